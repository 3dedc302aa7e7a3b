/*
 * daemon/state.h - the state directory: whose it is, who holds it.
 */
#ifndef CARREL_DAEMON_STATE_H
#define CARREL_DAEMON_STATE_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

struct state {
        const char *path;              /* absolute, without a final slash */
        int fd;                        /* the directory */
        int lock;                      /* held as long as it is open */
};

/* Where it is when nobody says: CARREL_STATE, /var/lib/carrel as root, $XDG_STATE_HOME/carrel, ~/.local/state/carrel. In `arena`.
 * Errors: ERROR_STATE_UNUSABLE (no home), ERROR_NO_MEMORY. */
int state_choose(struct arena *arena, const char *named, const char **ret, struct error *e);

/*
 * Makes the directory (and what leads to it) where it is missing, looks whose it is, and takes its lock. `socket_mode` says whom the sockets are for: a
 * directory is 0700, or may be passed through by the group or others where their sockets are open to them. Ended with state_close().
 * Errors: ERROR_STATE_UNUSABLE with reason symlink, not_directory, owner, mode or too_long; ERROR_STATE_IN_USE, which names the holder's pid.
 */
int state_open(const char *path, mode_t socket_mode, struct state *ret, struct error *e);
void state_close(struct state *s);

/* How many boxes live: those of STATE/boxes that say so, on their socket, within half a second for all. */
unsigned state_count_boxes(const struct state *s);

/* A small number kept in a file of the directory, 0 where there is none. What cannot be written is not kept. */
unsigned state_number_read(const struct state *s, const char *name);
void state_number_write(const struct state *s, const char *name, unsigned number);

#endif
