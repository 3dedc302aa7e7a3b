/*
 * daemon/state.h - the state directory: its owner and its lock.
 */
#ifndef CARREL_DAEMON_STATE_H
#define CARREL_DAEMON_STATE_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

struct state {
        const char *path; /* absolute, without a final slash */
        int fd;           /* the directory */
        int lock;         /* holds the lock while open */
};

/*
 * The directory to use: `named`, else CARREL_STATE, else /var/lib/carrel as root, else
 * $XDG_STATE_HOME/carrel, else ~/.local/state/carrel. Allocated in `arena`. Errors:
 * ERROR_STATE_UNUSABLE (no home), ERROR_NO_MEMORY.
 */
int state_choose(struct arena *arena, const char *named, const char **ret, struct error *e);

/* Creates a missing directory and its parents, each closed to other users. Errors:
 * ERROR_STATE_UNUSABLE with errno. */
int state_make(const char *path, struct error *e);

/*
 * Creates a missing directory and its parents, checks its owner and takes its lock. `socket_mode`
 * is the mode of the sockets. The directory has mode 0700; the group or others may pass through it
 * if the sockets are open to them. End with state_close(). Errors: ERROR_STATE_UNUSABLE with reason
 * symlink, not_directory, owner, mode or too_long; ERROR_STATE_IN_USE, which names the holder's
 * pid.
 */
int state_open(const char *path, mode_t socket_mode, struct state *ret, struct error *e);
void state_close(struct state *s);

/* Counts live boxes in STATE/boxes: those that answer on their socket, within 0.5 s in total. */
unsigned state_count_boxes(const struct state *s);

/*
 * Reads or writes a small number in a file of the directory. Reading gives 0 if the file is
 * missing; a failed write is ignored.
 */
unsigned state_number_read(const struct state *s, const char *name);
void state_number_write(const struct state *s, const char *name, unsigned number);

#endif
