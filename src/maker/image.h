/*
 * maker/image.h - a sandbox's private disk: a sized file system in a file without a name (privileged only).
 */
#ifndef CARREL_MAKER_IMAGE_H
#define CARREL_MAKER_IMAGE_H

#include <stdint.h>

/*
 * Makes an empty file system of `mb` MiB (1 to EXT4_MB_MAX) that belongs to uid and gid, in a nameless file of the directory `directory` (O_PATH descriptor), and mounts it
 * nosuid, nodev. Gives the detached mount, or -errno: -EOPNOTSUPP where that file system holds no nameless files, -ENODEV where the kernel has no ext4,
 * -ENOENT or -ENXIO where there is no loop device. Whoever closes the last hold on the mount frees loop device and file, however it ends.
 */
int image_open(int directory, uint64_t mb, uint32_t uid, uint32_t gid);

#endif
