/*
 * image/unpack/tree.h - reads a plain directory as if it were an archive.
 */
#ifndef CARREL_IMAGE_UNPACK_TREE_H
#define CARREL_IMAGE_UNPACK_TREE_H

#include "image/unpack/archive.h"

/*
 * Hashes what is below the directory `source`: names, kinds, permissions, times, contents and
 * targets of links, in the order of names. With `is_copied` every entry is also made with `target`;
 * without it, `target` is only refused with. `step` is called with `ctx` after each MiB or so.
 *
 * No link is followed. Directories of other file systems are entered as empty, and hard links as
 * files of their own. Returns 0, or -1 with target->refusal: those of image/unpack/target.h, and
 *
 *   unreadable    the user may not read it      changed    it changed while it was read
 */
int tree_read(int source, struct target *target, bool is_copied, void (*step)(void *ctx), void *ctx,
              struct archive_result *ret);

#endif
