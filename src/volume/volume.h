/*
 * volume/volume.h - named volumes: directories of one owner that outlive sandboxes.
 *
 *     STATE/volumes/OWNER/NAME/data    what a sandbox sees
 *                        /NAME/use     a file for each mount of a sandbox that lives, locked by its maker: ID.INDEX
 *                        /.new-NAME    being made; it gets its name last
 *                        /.gone-NUMBER removed; erased as time permits
 *
 * Directories above `data` have mode 0700 and are the state directory's owner's, so that an owner's volumes are reached through Carrel alone. What
 * looks at more than one of them, makes one or removes one holds the lock (flock) of STATE/volumes/OWNER for that moment; the locks in `use` end with
 * their holders, so that none is ever stale. Everything is opened by handle, one name at a time, following no symbolic link.
 *
 * Functions answer 0 or -errno, which volume_fail() says in words.
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

/* STATE/volumes/OWNER, in `ret`. `owner`: any text; each has a directory of its own. Errors: ERROR_STATE_UNUSABLE (too long). */
int volume_directory(const char *state, const char *owner, char ret[VOLUME_PATH_MAX], struct error *e);

/* -- of whoever makes a sandbox ------------------------------------------------------------------------------------------------ */

struct volume_use {
        int uses, lock;                /* -1: none */
        char file[VOLUME_ID_LEN + 8];
};

/*
 * Opens the volume `name` below `directory` (volume_directory()), made if it is not there, and holds it for the sandbox `id` until volume_let_go(). `index`
 * tells the mounts of one sandbox apart, 0 to 9999. `most`: how many volumes there may be. Gives `data` (O_PATH). -EUSERS: there are as many as may be;
 * -EPERM: a directory belongs to somebody else, or is open to others; -EINVAL: no name; -ELOOP and -ENOTDIR: something else has its place.
 */
int volume_hold(const char *directory, const char *name, uint64_t id, int index, uint64_t most, struct volume_use *ret, int *ret_data);

/* Accepts one that holds nothing (uses and lock -1). */
void volume_let_go(struct volume_use *u);

/* -- of whoever looks after them ----------------------------------------------------------------------------------------------- */

struct volume_info {
        char name[NAME_MAX_LEN + 1];
        uint64_t used_ms;              /* when a sandbox last began or ended to use it, or when it was made: since 1970 */
        uint64_t bytes, files;         /* on disk; of what was counted */
        bool is_partial;               /* there is more than was counted */
        unsigned users;                /* mounts of sandboxes that live */
        char user[VOLUME_ID_LEN + 1];  /* the id of one of them; "" if there is none */
};

/* 0, also where it is there already (*ret_is_new: it was not). Errors as volume_hold(). */
int volume_create(const char *directory, const char *name, uint64_t most, bool *ret_is_new);

/* Takes its name away at once; volume_sweep() erases what it held. -EBUSY: a sandbox uses it, `ret_user`; -ENOENT. */
int volume_remove(const char *directory, const char *name, char ret_user[VOLUME_ID_LEN + 1]);

/* Erasing what was removed, a part at a time: whoever does other things meanwhile keeps where it is. */
struct volume_sweep { int dir, top, at;  char name[NAME_MAX_LEN + 16]; };

void volume_sweep_init(struct volume_sweep *s);
void volume_sweep_fini(struct volume_sweep *s);

/* Looks at `budget` entries at most. 1: there is more; 0: nothing is left, and `s` is as after volume_sweep_init(), as after a failure. */
int volume_sweep(struct volume_sweep *s, const char *directory, uint64_t budget);

/*
 * Gives each volume of `directory`, none where there is no directory, to `each`; its size within `budget` entries of all together. Order: as the directory has
 * them. `each` answers 0, or what ends the listing.
 */
int volume_list(const char *directory, uint64_t budget, int (*each)(void *ctx, const struct volume_info *info), void *ctx);

/* The error of a function above. `user`: for -EBUSY. Answers -1. */
int volume_fail(const char *name, int result, const char *user, struct error *e);

#endif
