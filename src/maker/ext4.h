/*
 * maker/ext4.h - writes an empty ext4 file system into a file.
 */
#ifndef CARREL_MAKER_EXT4_H
#define CARREL_MAKER_EXT4_H

#include <stdint.h>

/* One inode for each 4 KiB, as in our tmpfs. The inode table takes a sixteenth of the size. */
enum { EXT4_MB_MAX = 4 << 20 }; /* MiB: 4 TiB */

/*
 * Writes an empty file system of `mb` MiB (1 to EXT4_MB_MAX) into `fd`, an empty file open for
 * writing. The root directory belongs to uid and gid and has mode 0755. There is no journal and no
 * space reserved for root. Unwritten blocks stay holes: 2 GiB take about 24 KiB of writes. Returns
 * 0 or -errno.
 */
int ext4_format(int fd, uint64_t mb, uint32_t uid, uint32_t gid);

#endif
