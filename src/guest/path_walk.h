/*
 * guest/path_walk.h - resolves a path to the directory that holds its last name, component by
 * component.
 *
 * The walk answers as the kernel does (ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG), with two
 * differences. It does not open the last name, so that the caller can check its kind first. It
 * enters nothing in /proc (EACCES). openat2 would do this in one call, but the filter hides it.
 */
#ifndef CARREL_GUEST_PATH_WALK_H
#define CARREL_GUEST_PATH_WALK_H

#include "wire/file.h"

enum { PATH_WALK_NAME_MAX = 255, PATH_WALK_LINKS_MAX = 40 };

enum path_walk_flag {
        /* follow a link at the end: the place is its target, which need not exist */
        PATH_WALK_FOLLOW = 1u << 0,
        PATH_WALK_MAKE = 1u << 1, /* create missing directories on the way, with mode 0755 */
};

struct path_walk {
        int dir;                           /* O_PATH; closed by path_walk_fini() */
        char name[PATH_WALK_NAME_MAX + 1]; /* in `dir`: one name, "." or ".." */
        int wants_directory;               /* the path ended with a slash */
};

/* 0 or an errno value; after an error there is nothing to free. */
int path_walk_open(const char *path, unsigned flags, struct path_walk *ret);
/* The same, where a relative path begins at the directory `start`. */
int path_walk_open_at(int start, const char *path, unsigned flags, struct path_walk *ret);

void path_walk_fini(struct path_walk *w);

/* True: the descriptor refers to an object in /proc. */
int path_walk_is_proc(int fd);

#endif
