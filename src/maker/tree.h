/*
 * maker/tree.h - a source prepared as a detached mount whose ids are mapped to the sandbox's own (privileged only).
 */
#ifndef CARREL_MAKER_TREE_H
#define CARREL_MAKER_TREE_H

#include <stdint.h>

/*
 * Clones the tree at `source` (O_PATH descriptor, with the mounts beneath it) and maps its owner to the ids the box
 * has outside. Files made through it belong to that owner. Gives a descriptor, or -errno: -EINVAL where the
 * file system cannot map ids.
 */
int tree_open(int source, uint32_t owner_uid, uint32_t owner_gid, uint32_t box_uid, uint32_t box_gid);

/* The same with ids as they are. */
int tree_open_plain(int source);

#endif
