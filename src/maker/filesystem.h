/*
 * maker/filesystem.h - new file systems, as detached mounts (fsopen(2), fsmount(2)).
 */
#ifndef CARREL_MAKER_FILESYSTEM_H
#define CARREL_MAKER_FILESYSTEM_H

#include <stdint.h>

struct filesystem_setting {
        const char *key, *value;
};

/*
 * One of this type, with the settings up to the first without a key, and the attributes
 * MOUNT_ATTR_*. Returns a descriptor of its mount, which is the caller's, or -errno.
 */
int filesystem_make(const char *type, const struct filesystem_setting *settings,
                    unsigned attributes);

/* One in memory, of `size` bytes, nosuid and nodev, whose root has `mode`. Returns as above. */
int filesystem_make_tmpfs(uint64_t size, uint64_t mode);

#endif
