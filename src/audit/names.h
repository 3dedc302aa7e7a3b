/*
 * audit/names.h - visits every name below a directory, in the order of their bytes: a directory,
 * then what is in it.
 *
 * It follows no link and opens nothing but directories. A tree that others change meanwhile is
 * visited as it is found.
 */
#ifndef CARREL_AUDIT_NAMES_H
#define CARREL_AUDIT_NAMES_H

#include <stddef.h>
#include <sys/stat.h>

#include "base/error.h"

/* Each function returns 0, AUDIT_NAMES_SKIP or -1: the walk ends, with its error. */
struct audit_names {
        void *ctx;
        /* `dir` holds `name`. `depth`: directories above it, 0 at the top. AUDIT_NAMES_SKIP: a
         * directory that is not visited. */
        int (*name)(void *ctx, int dir, const char *name, const struct stat *st, unsigned depth,
                    struct error *e);
        /* every name of a directory was visited, or none if it is unreadable */
        int (*leave)(void *ctx, unsigned depth, struct error *e);
        /* this directory, or this name in it, cannot be examined: errno `sys` */
        int (*unreadable)(void *ctx, const char *name, unsigned depth, int sys, struct error *e);
        /* the names of this directory, or of the next ones, are more than `left` */
        int (*cut)(void *ctx, struct error *e);
        size_t left; /* so many names are still read; the walk counts down */
};

enum { AUDIT_NAMES_SKIP = 1 };

/*
 * `fd`: the directory (borrowed; O_PATH is enough). Errors: those of the functions;
 * ERROR_NO_MEMORY.
 */
int audit_names_walk(int fd, struct audit_names *visit, struct error *e);

#endif
