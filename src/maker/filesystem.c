/*
 * maker/filesystem.c - makes file systems that no directory shows yet.
 *
 * Room: maker (program). Touches: mounts.
 */
#include "maker/filesystem.h"

#include <stdio.h>
#include <sys/mount.h>
#include <unistd.h>

#include "maker/kernel.h"

enum {
        TMPFS_INODES = 65536 /* minimum */,
        INODE_BYTES = 4096 /* one more inode per this many bytes of size */
};

int
filesystem_make(const char *type, const struct filesystem_setting *settings, unsigned attributes)
{
        int fs = kernel_fsopen(type);
        int result = 0;
        int mount;

        if (fs < 0)
                return fs;
        for (; settings->key && result == 0; settings++)
                result = kernel_fsconfig(fs, FSCONFIG_SET_STRING, settings->key, settings->value);
        if (result == 0)
                result = kernel_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL);
        mount = result == 0 ? kernel_fsmount(fs, attributes) : result;
        (void)close(fs);
        return mount;
}

int
filesystem_make_tmpfs(uint64_t size, uint64_t mode)
{
        char size_text[32], mode_text[32], inodes[32];
        struct filesystem_setting settings[4] = { { "size", size_text },
                                                  { "mode", mode_text },
                                                  { "nr_inodes", inodes } };

        (void)snprintf(size_text, sizeof size_text, "%llu", (unsigned long long)size);
        (void)snprintf(mode_text, sizeof mode_text, "%o", (unsigned)mode);
        (void)snprintf(inodes, sizeof inodes, "%llu",
                       (unsigned long long)(size / INODE_BYTES > TMPFS_INODES ? size / INODE_BYTES
                                                                              : TMPFS_INODES));
        return filesystem_make("tmpfs", settings, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}
