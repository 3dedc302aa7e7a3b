/*
 * base/floor.h - what of a file system stays free while a sandbox writes to it.
 *
 * A workspace has no quota, so the process that follows a command checks it from time to time, and
 * ends the command here. Both followers use this one rule.
 */
#ifndef CARREL_BASE_FLOOR_H
#define CARREL_BASE_FLOOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>

enum { FLOOR_PART = 50, FLOOR_INODES = 4096 };

/* A fiftieth of a small file system stays free, of bytes and of inodes; of a large one floor_mb MiB
 * and FLOOR_INODES. Those without a table of inodes say 0. */
static inline bool
floor_is_passed(const struct statvfs *fs, uint64_t floor_mb)
{
        uint64_t bytes = (uint64_t)fs->f_blocks * fs->f_frsize / FLOOR_PART;
        uint64_t inodes = (uint64_t)fs->f_files / FLOOR_PART;

        if (bytes > floor_mb << 20)
                bytes = floor_mb << 20;
        if (inodes > FLOOR_INODES)
                inodes = FLOOR_INODES;
        return (uint64_t)fs->f_bavail * fs->f_frsize < bytes ||
               (fs->f_files > 0 && (uint64_t)fs->f_favail < inodes);
}

#endif
