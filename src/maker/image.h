/*
 * maker/image.h - a sandbox's private disk: a file system of fixed size in an unnamed file
 * (privileged only).
 */
#ifndef CARREL_MAKER_IMAGE_H
#define CARREL_MAKER_IMAGE_H

#include <stdint.h>

/*
 * Creates an empty file system of `mb` MiB (1 to EXT4_MB_MAX) that belongs to uid and gid. It lies
 * in an unnamed file in the directory `directory` (O_PATH descriptor), and is mounted nosuid,
 * nodev. Gives the detached mount, or -errno: -EOPNOTSUPP if that file system does not support
 * unnamed files, -ENODEV if the kernel has no ext4, -ENOENT or -ENXIO if there is no loop device.
 * When the last descriptor or use of the mount closes, also by a kill, the kernel frees loop device
 * and file.
 */
int image_open(int directory, uint64_t mb, uint32_t uid, uint32_t gid);

#endif
