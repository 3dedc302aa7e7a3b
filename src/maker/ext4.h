/*
 * maker/ext4.h - an empty ext4 file system, written into a file.
 */
#ifndef CARREL_MAKER_EXT4_H
#define CARREL_MAKER_EXT4_H

#include <stdint.h>

/* One file or directory for each 4 KiB, as a tmpfs of ours has it; their table takes a sixteenth of the size. */
enum { EXT4_MB_MAX = 4 << 20 };        /* MiB: 4 TiB */

/*
 * Writes an empty file system of `mb` MiB (1 to EXT4_MB_MAX) into `fd`, an empty file open for writing. Its root directory belongs to uid and gid
 * and has mode 0755. It has no journal, nothing is reserved for root, and what is not written stays a hole: some 24 KiB are written for 2 GiB.
 * 0 or -errno.
 */
int ext4_format(int fd, uint64_t mb, uint32_t uid, uint32_t gid);

#endif
