/*
 * maker/ext4.h - writes an empty ext4 file system into a file or a loop device.
 */
#ifndef CARREL_MAKER_EXT4_H
#define CARREL_MAKER_EXT4_H

#include <stdint.h>

/* One inode for each 4 KiB, as in our tmpfs. The inode table takes a sixteenth of the size. */
enum { EXT4_MB_MAX = 4 << 20 }; /* MiB: 4 TiB */

/*
 * Size in bytes of a file system of `mb` MiB: at most that many, and less if the rest has no room
 * for a group. 0 if `mb` is not 1 to EXT4_MB_MAX.
 */
uint64_t ext4_bytes(uint64_t mb);

/*
 * Writes an empty file system of `mb` MiB (1 to EXT4_MB_MAX) into `fd`, which is open for writing,
 * has ext4_bytes(mb) bytes and reads as zeroes. The root directory belongs to uid and gid and has
 * mode 0755. There is no journal and no space reserved for root. Unwritten blocks stay holes: 2 GiB
 * take about 28 KiB of writes. Returns 0 or -errno.
 */
int ext4_format(int fd, uint64_t mb, uint32_t uid, uint32_t gid);

#endif
