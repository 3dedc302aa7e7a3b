/*
 * maker/kept.h - the sandbox's keeping: where names go that the command made and that programs of the host would act on.
 *
 * BASE/N/NAME: N is the number of the source, "/" of a name is written "%", a second one of a name gets ".1", and so on.
 */
#ifndef CARREL_MAKER_KEPT_H
#define CARREL_MAKER_KEPT_H

#include <stddef.h>
#include <stdint.h>

struct kept_dirent { uint64_t inode; int64_t offset; unsigned short len; unsigned char kind; char name[]; };   /* of getdents64(2) */

/*
 * Opens the keeping for what comes from `source` (number `index`), and makes it, with the directories that lead there, where it is
 * missing: 0700, the last one the source's owner's. A descriptor or -errno.
 */
int kept_open(const char *base, int source, unsigned index);

/* Removes what kept_open() made, as far as nothing is in it. */
void kept_drop(const char *base, unsigned index);

/*
 * Moves `name` of the directory `dir` to the keeping, under a name made of `path`. Where that is another file system it is copied and
 * removed if `may_copy`: what is written to it later is lost then. Gives the whole new path, room bytes. 0 or -errno (-EXDEV: not copied;
 * -EFBIG: more than can be copied, removed all the same).
 */
int kept_move(int dir, const char *name, int keeping, const char *base, unsigned index, const char *path, int may_copy, char *ret, size_t room);

#endif
