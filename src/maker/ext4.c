/*
 * maker/ext4.c - writes an empty ext4 file system into a file or a loop device.
 *
 * Room: maker (program). Touches: the file it receives, random numbers.
 * Theory: the privileged maker executes no program, so it writes the few blocks that mke2fs would.
 * The layout is that of the kernel's Documentation/filesystems/ext4. Only the first group is
 * written in full, and the last group's block bitmap. Every other group is a descriptor marked "not
 * initialised" with a checksum (gdt_csum). The kernel creates its bitmaps at first use, and a hole
 * in the file is an inode table of zeroes. There is one super block (sparse_super2 without copies),
 * because a disk that ends with its sandbox needs no repair. The payload reaches files in it, never
 * the blocks.
 *
 * Two values only save time. Groups are in pairs (flex_bg): at the first new directory the kernel
 * reads the bitmaps of one pair, and without pairs those of 32 groups (0.4 ms). The number of
 * blocks that hold no data (overhead) is what the kernel computes at each mount; if the super block
 * has another, the kernel writes it and waits.
 *
 *     block 0        1 .. g        g+1           g+2           g+3 .. g+2+t    g+3+t
 *     super block    descriptors   block bitmap  inode bitmap  inode table     root directory
 */
#include "maker/ext4.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>
#include <unistd.h>

enum {
        BLOCK = 4096,
        BLOCKS_MB = 256,
        GROUP_MAX = 32768,
        INODE = 256,
        INODES_BLOCK = BLOCK / INODE,
        DESC = 32,
        DESCS_BLOCK = BLOCK / DESC
};
enum { ROOT_INODE = 2, FIRST_INODE = 11, USED_INODES = FIRST_INODE - 1, EXTRA = 32 };
enum {
        GROUP_NO_INODES = 1 << 0,
        GROUP_NO_BLOCKS = 1 << 1 /* that bitmap is not written */,
        GROUP_ZEROED = 1 << 2
};
enum {
        COMPAT = 0x8 /* attributes */ | 0x20 /* dir_index */ | 0x200 /* sparse_super2 */,
        INCOMPAT = 0x2 /* filetype */ | 0x40 /* extents */ | 0x200 /* flex_bg */,
        RO_COMPAT = 0x2 /* large_file */ | 0x8 /* huge_file */ | 0x10 /* gdt_csum */ |
                    0x20 /* dir_nlink */ | 0x40 /* extra_isize */
};

struct layout {
        int fd;
        uint32_t blocks, group_blocks, groups, inodes /* per group */,
                table /* blocks of a group's inode table */,
                descs /* blocks of group descriptors */;
        uint64_t free_blocks;
        unsigned char uuid[16], seed[16];
};

static void
put16(unsigned char *at, uint32_t value)
{
        at[0] = (unsigned char)value;
        at[1] = (unsigned char)(value >> 8);
}

static void
put32(unsigned char *at, uint32_t value)
{
        put16(at, value);
        put16(at + 2, value >> 16);
}

static int
put_block(const struct layout *l, uint32_t number, const unsigned char *block)
{
        ssize_t written = pwrite(l->fd, block, BLOCK, (off_t)number * BLOCK);

        return written == BLOCK ? 0 : written < 0 ? -errno : -ENOSPC;
}

/* Makes all groups about equal, so that the last has room for its own table. */
static void
lay_out(struct layout *l, uint64_t mb)
{
        uint64_t blocks = mb * BLOCKS_MB, groups = (blocks + GROUP_MAX - 1) / GROUP_MAX;

        if (blocks > UINT32_MAX)
                blocks = UINT32_MAX;
        l->group_blocks = (uint32_t)((blocks + groups - 1) / groups + 7) / 8 * 8;
        l->inodes = l->group_blocks / INODES_BLOCK * INODES_BLOCK;
        l->table = l->inodes / INODES_BLOCK;
        l->groups = (uint32_t)((blocks + l->group_blocks - 1) / l->group_blocks);
        l->blocks = (uint32_t)blocks;
        if (l->groups > 1 && l->blocks - (l->groups - 1) * l->group_blocks < 2 * l->table + 2)
                l->blocks = --l->groups * l->group_blocks;
        l->descs = (l->groups + DESCS_BLOCK - 1) / DESCS_BLOCK;
        l->free_blocks = l->blocks - 1 - l->descs - 1 - (uint64_t)l->groups * (l->table + 2);
}

static uint32_t
blocks_of(const struct layout *l, uint32_t group)
{
        return group == l->groups - 1 ? l->blocks - group * l->group_blocks : l->group_blocks;
}

/* Number of blocks at the start of a group that are used from the beginning. */
static uint32_t
used_of(const struct layout *l, uint32_t group)
{
        return l->table + 2 + (group == 0 ? 1 + l->descs + 1 : 0);
}

static uint16_t
crc16(uint16_t crc, const unsigned char *bytes, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                crc ^= bytes[i];
                for (int bit = 0; bit < 8; bit++)
                        crc = (uint16_t)(crc >> 1 ^ ((crc & 1) != 0 ? 0xa001 : 0));
        }
        return crc;
}

static void
describe(const struct layout *l, uint32_t group, unsigned char *desc)
{
        uint32_t at = group == 0 ? 1 + l->descs : group * l->group_blocks,
                 used = group == 0 ? USED_INODES : 0;
        unsigned char number[4];
        uint16_t crc;

        put32(desc, at);
        put32(desc + 4, at + 1);
        put32(desc + 8, at + 2);
        put16(desc + 12, blocks_of(l, group) - used_of(l, group));
        put16(desc + 14, l->inodes - used);
        put16(desc + 16, group == 0); /* directories */
        put16(desc + 18,
              GROUP_ZEROED | (group == 0 ? 0u : (uint32_t)GROUP_NO_INODES) |
                      (group == 0 || group == l->groups - 1 ? 0u : (uint32_t)GROUP_NO_BLOCKS));
        put16(desc + 28, l->inodes - used); /* unused at the end of the table */
        put32(number, group);
        crc = crc16(crc16(UINT16_MAX, l->uuid, sizeof l->uuid), number, sizeof number);
        put16(desc + 30, crc16(crc, desc, 30));
}

static int
put_descriptors(const struct layout *l)
{
        unsigned char block[BLOCK];
        int result = 0;

        for (uint32_t b = 0; b < l->descs && result == 0; b++) {
                memset(block, 0, sizeof block);
                for (uint32_t i = 0; i < DESCS_BLOCK && b * DESCS_BLOCK + i < l->groups; i++)
                        describe(l, b * DESCS_BLOCK + i, block + (size_t)i * DESC);
                result = put_block(l, 1 + b, block);
        }
        return result;
}

/* Sets the first `used` bits of `count`, and all bits after `count`. */
static int
put_bitmap(const struct layout *l, uint32_t number, uint32_t used, uint32_t count)
{
        unsigned char block[BLOCK] = { 0 };

        for (uint32_t i = 0; i < BLOCK * 8; i++)
                if (i < used || i >= count)
                        block[i / 8] |= (unsigned char)(1 << i % 8);
        return put_block(l, number, block);
}

/* Both bitmaps of the first group, and the block bitmap of the last, which may be shorter. */
static int
put_bitmaps(const struct layout *l)
{
        uint32_t last = l->groups - 1;
        int result = put_bitmap(l, 1 + l->descs, used_of(l, 0), blocks_of(l, 0));

        if (result == 0)
                result = put_bitmap(l, 1 + l->descs + 1, USED_INODES, l->inodes);
        return result < 0 || last == 0 ? result
                                       : put_bitmap(l, last * l->group_blocks, used_of(l, last),
                                                    blocks_of(l, last));
}

static int
put_root_inode(const struct layout *l, uint32_t uid, uint32_t gid)
{
        unsigned char block[BLOCK] = { 0 }, *inode = block + (ROOT_INODE - 1) * INODE,
                      *extents = inode + 40;

        put16(inode, 0040755);
        put16(inode + 2, uid);
        put32(inode + 4, BLOCK);
        put16(inode + 24, gid);
        put16(inode + 26, 2); /* links */
        put32(inode + 28, BLOCK / 512);
        put32(inode + 32, 0x80000); /* its blocks are extents */
        put16(extents, 0xf30a);
        put16(extents + 2, 1); /* one of four */
        put16(extents + 4, 4);
        put16(extents + 12 + 4, 1); /* of one block */
        put32(extents + 12 + 8, used_of(l, 0) - 1);
        put16(inode + 120, uid >> 16);
        put16(inode + 122, gid >> 16);
        put16(inode + 128, EXTRA);
        return put_block(l, 1 + l->descs + 2, block);
}

static int
put_root_directory(const struct layout *l)
{
        unsigned char block[BLOCK] = { 0 };

        for (size_t i = 0; i < 2; i++) { /* "." and ".." */
                unsigned char *entry = block + i * 12;

                put32(entry, ROOT_INODE);
                put16(entry + 4, i == 0 ? 12 : BLOCK - 12);
                entry[6] = (unsigned char)(i + 1);
                entry[7] = 2; /* a directory */
                memset(entry + 8, '.', i + 1);
        }
        return put_block(l, used_of(l, 0) - 1, block);
}

static int
put_super_block(const struct layout *l)
{
        unsigned char block[BLOCK] = { 0 }, *super = block + 1024;

        put32(super, l->inodes * l->groups);
        put32(super + 4, l->blocks);
        put32(super + 12, (uint32_t)l->free_blocks);
        put32(super + 16, l->inodes * l->groups - USED_INODES);
        put32(super + 24, 2); /* 1024 << 2 bytes per block and per cluster */
        put32(super + 28, 2);
        put32(super + 32, l->group_blocks);
        put32(super + 36, l->group_blocks);
        put32(super + 40, l->inodes);
        put16(super + 54, UINT16_MAX); /* no check after a number of mounts */
        put16(super + 56, 0xef53);
        put16(super + 58, 1); /* clean */
        put16(super + 60, 1); /* continue after an error */
        put32(super + 76, 1);
        put32(super + 84, FIRST_INODE);
        put16(super + 88, INODE);
        put32(super + 92, COMPAT);
        put32(super + 96, INCOMPAT);
        put32(super + 100, RO_COMPAT);
        memcpy(super + 104, l->uuid, sizeof l->uuid);
        memcpy(super + 236, l->seed, sizeof l->seed);
        super[252] = 1; /* directory hash: half MD4 */
        put16(super + 348, EXTRA);
        put16(super + 350, EXTRA);
        put32(super + 352, 1);                                        /* hash of signed chars */
        super[372] = 1;                                               /* 1 << 1 groups are a pair */
        put32(super + 584, l->blocks - (uint32_t)l->free_blocks - 1); /* overhead */
        return put_block(l, 0, block);
}

uint64_t
ext4_bytes(uint64_t mb)
{
        struct layout l = { .fd = -1 };

        if (mb == 0 || mb > EXT4_MB_MAX)
                return 0;
        lay_out(&l, mb);
        return (uint64_t)l.blocks * BLOCK;
}

int
ext4_format(int fd, uint64_t mb, uint32_t uid, uint32_t gid)
{
        struct layout l = { .fd = fd };
        int result;

        if (mb == 0 || mb > EXT4_MB_MAX)
                return -EINVAL;
        lay_out(&l, mb);
        if (getrandom(l.uuid, sizeof l.uuid, GRND_NONBLOCK) != sizeof l.uuid ||
            getrandom(l.seed, sizeof l.seed, GRND_NONBLOCK) != sizeof l.seed)
                return -errno;
        result = put_super_block(&l);
        if (result == 0)
                result = put_descriptors(&l);
        if (result == 0)
                result = put_bitmaps(&l);
        if (result == 0)
                result = put_root_inode(&l, uid, gid);
        return result == 0 ? put_root_directory(&l) : result;
}
