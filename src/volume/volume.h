/*
 * volume/volume.h - named volumes: directories of one owner that outlive sandboxes.
 *
 *     STATE/volumes/OWNER/NAME/data    what a sandbox sees
 *                        /NAME/use     one file per mount in a living sandbox, locked by its maker:
 * ID.INDEX
 *                        /.new-NAME    being created; renamed to NAME at the end
 *                        /.gone-NUMBER removed; erased later, in parts
 *
 * Directories above `data` have mode 0700 and belong to the owner of the state directory, so that
 * volumes are reached only through Carrel. Code that examines several volumes, creates one or
 * removes one holds the lock (flock) of STATE/volumes/OWNER meanwhile. The kernel releases a lock
 * in `use` when its holder dies, so no lock is ever stale. Everything is opened by handle, one name
 * at a time, and no symbolic link is followed.
 *
 * Functions return 0 or -errno; volume_fail() turns it into an error with a message.
 */
#ifndef CARREL_VOLUME_VOLUME_H
#define CARREL_VOLUME_VOLUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/name.h"

enum { VOLUME_PATH_MAX = 4096, VOLUME_ID_LEN = 16, VOLUME_OWNER_MAX = 72 };
#define VOLUME_NO_BOUND UINT64_MAX

/*
 * Writes STATE/volumes/OWNER to `ret`. `owner`: any text; each owner has its own directory. Errors:
 * ERROR_STATE_UNUSABLE (too long).
 */
int volume_directory(const char *state, const char *owner, char ret[VOLUME_PATH_MAX],
                     struct error *e);

/* -- for the creator of a sandbox -------------------------------------------------------------- */

struct volume_use {
        int uses, lock; /* -1: none */
        char file[VOLUME_ID_LEN + 8];
};

/*
 * Opens the volume `name` below `directory` (volume_directory()), creates it if missing, and holds
 * it for the sandbox `id` until volume_let_go(). `index` distinguishes the mounts of one sandbox, 0
 * to 9999. `most`: how many volumes there may be. Gives `data` (O_PATH). -EUSERS: the maximum is
 * reached; -EPERM: a directory belongs to another user, or others may access it; -EINVAL: not a
 * valid name; -ELOOP and -ENOTDIR: the path is a link or not a directory.
 */
int volume_hold(const char *directory, const char *name, uint64_t id, int index, uint64_t most,
                struct volume_use *ret, int *ret_data);

/* Accepts one that holds nothing (uses and lock -1). */
void volume_let_go(struct volume_use *u);

/* -- for managing volumes ---------------------------------------------------------------------- */

struct volume_info {
        char name[NAME_MAX_LEN + 1];
        /* ms since 1970: when a sandbox last started or stopped using it, or its creation */
        uint64_t used_ms;
        uint64_t bytes, files;        /* bytes: on disk; both cover the counted part */
        bool is_partial;              /* there is more than was counted */
        unsigned users;               /* mounts in living sandboxes */
        char user[VOLUME_ID_LEN + 1]; /* the id of one of these sandboxes; "" if none */
};

/*
 * Creates a volume. Returns 0 also if it exists already (*ret_is_new is then false). Errors as
 * volume_hold().
 */
int volume_create(const char *directory, const char *name, uint64_t most, bool *ret_is_new);

/*
 * Removes the name at once; volume_sweep() erases the content later. -EBUSY: a sandbox uses it, its
 * id is in `ret_user`; -ENOENT.
 */
int volume_remove(const char *directory, const char *name, char ret_user[VOLUME_ID_LEN + 1]);

/* Erases removed volumes in parts; the struct keeps the position between calls. */
struct volume_sweep {
        int dir, top, at;
        char name[NAME_MAX_LEN + 16];
};

void volume_sweep_init(struct volume_sweep *s);
void volume_sweep_fini(struct volume_sweep *s);

/*
 * Visits at most `budget` entries; one that takes longer than 128 us counts as several, and a long
 * file is shortened in steps that count as one entry each. Returns 1 if there is more, 0 if nothing
 * is left. After 0 or a failure, `s` is as after volume_sweep_init().
 */
int volume_sweep(struct volume_sweep *s, const char *directory, uint64_t budget);

/*
 * Calls `each` for each volume of `directory`, in directory order; none if the directory is
 * missing. All sizes together are counted within `budget` entries. If `each` does not return 0, the
 * listing ends with that value.
 */
int volume_list(const char *directory, uint64_t budget,
                int (*each)(void *ctx, const struct volume_info *info), void *ctx);

/* Makes the error of a function above. `user`: for -EBUSY. Returns -1. */
int volume_fail(const char *name, int result, const char *user, struct error *e);

#endif
