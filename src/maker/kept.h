/*
 * maker/kept.h - the sandbox's keeping: the directory that receives names which a command created
 * and on which host programs would act.
 *
 * The path is BASE/N/NAME. N is the number of the source, and "/" in a name becomes "%". A second
 * entry with the same name gets ".1", and so on. Of a name that is too long, the end is used.
 */
#ifndef CARREL_MAKER_KEPT_H
#define CARREL_MAKER_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "plan/pack.h"

enum { KEPT_PLACES_MAX = 2, KEPT_PATH_ROOM = 4096 };

/* from getdents64(2) */
struct kept_dirent {
        uint64_t inode;
        int64_t offset;
        unsigned short len;
        unsigned char kind;
        char name[];
};

/* The bases of the plan's KEEPING steps; the first usable one is used. The plan owns the texts. */
struct kept_places {
        const char *bases[KEPT_PLACES_MAX];
        size_t count;
};

void kept_places_read(struct kept_places *ret, const struct plan_view *view);

/*
 * Moves `name` in `dir` into the first place that accepts it: by a rename, else as a copy. `source`
 * and `index` name the source it belongs to; `path` is its path there. Call it with the identity of
 * the source's owner (owner_enter()); the identity is the same afterwards. `judged`: only that
 * inode is moved and any other is moved back; NULL: any inode. `kept` receives the new path
 * (KEPT_PATH_ROOM bytes). Returns 0; -ENOENT if the name is gone or is another inode by now; or
 * another -errno.
 */
int kept_take(const struct kept_places *places, int source, unsigned index, int dir,
              const char *name, const char *path, const struct stat *judged, char *kept);

#endif
