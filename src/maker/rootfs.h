/*
 * maker/rootfs.h - the layers of an image as one root: an overlay with a private upper directory.
 */
#ifndef CARREL_MAKER_ROOTFS_H
#define CARREL_MAKER_ROOTFS_H

#include <stddef.h>

/*
 * Attaches the tree of a layer, read-only, as number `number` below `scratch`. 0, or -errno. `tree`
 * stays the caller's.
 */
int rootfs_attach(int scratch, size_t number, int tree);

/*
 * Mounts the `count` attached trees of `lower`, the lowest first, at "root" in `workshop`, with the
 * upper directory below `from`. Returns the root (O_PATH), or -errno. *ret_upper: the upper
 * directory (O_PATH), or -1 if it failed. Both belong to the caller. Source: mount(2), overlayfs.
 */
int rootfs_mount(int workshop, int from, const int *lower, size_t count, int *ret_upper);

#endif
