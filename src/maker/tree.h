/*
 * maker/tree.h - prepares a source as a detached mount whose ids are mapped to those of the sandbox
 * (privileged only).
 */
#ifndef CARREL_MAKER_TREE_H
#define CARREL_MAKER_TREE_H

#include <stdint.h>

/*
 * Clones the tree at `source` (O_PATH descriptor, with the mounts beneath it) and maps its owner to
 * the box's outside ids. Files created through the mount belong to that owner. Gives a descriptor,
 * or -errno: -EINVAL if the file system cannot map ids.
 */
int tree_open(int source, uint32_t owner_uid, uint32_t owner_gid, uint32_t box_uid,
              uint32_t box_gid);

/* The same, with unchanged ids. */
int tree_open_plain(int source);

#endif
