/*
 * guest/way.h - resolves a path to the directory that holds its last name, component by component.
 *
 * The walk answers as the kernel does (ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG), with two
 * differences. It does not open the last name, so that the caller can check its kind first. It
 * enters nothing in /proc (EACCES). openat2 would do this in one call, but the filter hides it.
 */
#ifndef CARREL_GUEST_WAY_H
#define CARREL_GUEST_WAY_H

#include "wire/file.h"

enum { WAY_NAME_MAX = 255, WAY_LINKS_MAX = 40 };

enum way_flag {
        /* follow a link at the end: the place is its target, which need not exist */
        WAY_FOLLOW = 1u << 0,
        WAY_MAKE = 1u << 1, /* create missing directories on the way, with mode 0755 */
};

struct way {
        int dir;                     /* O_PATH; closed by way_fini() */
        char name[WAY_NAME_MAX + 1]; /* in `dir`: one name, "." or ".." */
        int wants_directory;         /* the path ended with a slash */
};

/* 0 or an errno value; after an error there is nothing to free. */
int way_open(const char *path, unsigned flags, struct way *ret);

void way_fini(struct way *w);

/* True: the descriptor refers to an object in /proc. */
int way_is_proc(int fd);

#endif
