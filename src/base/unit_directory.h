/* base/unit_directory.h - a directory for a unit test. */
#ifndef CARREL_BASE_UNIT_DIRECTORY_H
#define CARREL_BASE_UNIT_DIRECTORY_H

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UNIT_DIRECTORY = 64, UNIT_FILES_OPEN = 16 };

/*
 * Makes an empty directory. `is_fast`: in memory if this machine can, for a test that syncs often.
 * 0 or -1.
 */
static inline int
unit_directory_make(char path[UNIT_DIRECTORY], const char *name, bool is_fast)
{
        (void)snprintf(path, UNIT_DIRECTORY, "%s/carrel-%s-XXXXXX",
                       is_fast && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", name);
        return mkdtemp(path) ? 0 : -1;
}

static inline int
unit_remove_one(const char *path, const struct stat *st, int kind, struct FTW *place)
{
        (void)st, (void)kind, (void)place;
        return remove(path);
}

/* Leaves it, and removes it with all that is in it. 0 or -1. */
static inline int
unit_directory_remove(const char *path)
{
        return chdir("/") < 0 ? -1
                              : nftw(path, unit_remove_one, UNIT_FILES_OPEN, FTW_DEPTH | FTW_PHYS);
}

#endif
