/*
 * maker/tree.h - prepares a source as a detached mount whose ids are mapped to those of the sandbox
 * (privileged only).
 */
#ifndef CARREL_MAKER_TREE_H
#define CARREL_MAKER_TREE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Clones the tree at `source` (O_PATH descriptor, with the mounts beneath it) and maps its owner to
 * the box's outside ids. Files created through the mount belong to that owner. Gives a descriptor,
 * or -errno: -EINVAL if the file system cannot map ids.
 */
int tree_open(int source, uint32_t owner_uid, uint32_t owner_gid, uint32_t box_uid,
              uint32_t box_gid);

/* Writes "uid_map" or "gid_map" of a process in a new user namespace. 0 or -errno. */
int tree_write_map(pid_t pid, const char *name, uint32_t inside, uint32_t outside, uint32_t count);

/* tree_open() with unchanged ids. */
int tree_open_plain(int source);

#endif
