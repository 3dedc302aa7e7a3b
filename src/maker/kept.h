/*
 * maker/kept.h - the sandbox's keeping: where names go that the command made and that programs of the host would act on.
 *
 * BASE/N/NAME: N is the number of the source, "/" of a name is written "%", a second one of a name gets ".1", and so on. Of a long name the end counts.
 */
#ifndef CARREL_MAKER_KEPT_H
#define CARREL_MAKER_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "plan/pack.h"

enum { KEPT_PLACES_MAX = 2, KEPT_PATH_ROOM = 4096 };

struct kept_dirent { uint64_t inode; int64_t offset; unsigned short len; unsigned char kind; char name[]; };   /* of getdents64(2) */

/* The bases of the plan's KEEPING steps: the first that can be used is. The texts are the plan's. */
struct kept_places { const char *bases[KEPT_PLACES_MAX]; size_t count; };

void kept_places_read(struct kept_places *ret, const struct plan_view *view);

/*
 * Moves `name` of `dir` into the first place that takes it: by a rename, else as a copy. `source` and `index`: whose it is; `path`: its name there. Called with
 * the identity of the source's owner (owner_enter()), which it has afterwards too. `judged`: only that inode is moved, any other goes back; NULL: whatever it is.
 * Gives the new path in `kept`, KEPT_PATH_ROOM bytes. 0; -ENOENT: it is gone, or another by now; other -errno.
 */
int kept_take(const struct kept_places *places, int source, unsigned index, int dir, const char *name, const char *path, const struct stat *judged, char *kept);

#endif
