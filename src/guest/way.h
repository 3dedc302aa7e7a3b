/*
 * guest/way.h - from a path to the directory that holds its last name, walked piece by piece.
 *
 * The walk is the kernel's own in every answer it gives (ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG), with two differences: the
 * last name is not opened, so that its kind can be looked at first, and nothing in /proc is entered (EACCES). openat2 would do it in one call,
 * and the filter hides it.
 */
#ifndef CARREL_GUEST_WAY_H
#define CARREL_GUEST_WAY_H

#include "wire/file.h"

enum { WAY_NAME_MAX = 255, WAY_LINKS_MAX = 40 };

enum way_flag {
        WAY_FOLLOW = 1u << 0,          /* a link at the end is followed: the place is its target's, which need not exist */
        WAY_MAKE = 1u << 1,            /* what is missing on the way is made, 0755 */
};

struct way {
        int dir;                       /* O_PATH; closed by way_fini() */
        char name[WAY_NAME_MAX + 1];   /* in `dir`: one name, "." or ".." */
        int wants_directory;           /* the path ended with a slash */
};

/* 0 or an errno value, and then there is nothing to be ended. */
int way_open(const char *path, unsigned flags, struct way *ret);

void way_fini(struct way *w);

/* Is what this descriptor shows part of /proc? */
int way_is_proc(int fd);

#endif
