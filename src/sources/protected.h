/*
 * sources/protected.h - finds the protected names of a source.
 */
#ifndef CARREL_SOURCES_PROTECTED_H
#define CARREL_SOURCES_PROTECTED_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/request.h"
#include "sources/worktree.h"
#include "spec/spec.h"

/* What all sources of one sandbox have in common. */
struct protected_scope {
        struct arena *arena;
        const struct spec *spec;
        const char *workspace;          /* NULL: none */
        const struct spec_names *reads; /* files that were read to judge */
        bool as_owner;                  /* the payload acts as each source's owner */
        struct worktree tree;           /* of the workspace's mount */
        int tree_fd;                    /* its repository's directory */
        size_t config_count;            /* names that are judged by their content */
        bool has_guards;                /* names are to be watched */
};

enum protected_role {
        PROTECTED_PLAIN,
        PROTECTED_TREE,
        PROTECTED_COMMON
}; /* in a linked worktree */

/* Is this name, relative to the workspace, or one above it in `metadata.carrel.unprotect`? */
bool protected_is_open(const struct spec *spec, const char *path);

/*
 * Finds the protected names of the writable source `fd` (O_PATH, borrowed), and what its
 * repositories point to, and writes both to `source`; they belong to the arena of `scope`. Of a
 * repository that a linked worktree belongs to (PROTECTED_COMMON), only the latter. Sets
 * `has_guards` if names are to be watched. Errors: ERROR_MOUNT_DENIED (a protected name is a link,
 * has a second name, or is itself mounted), ERROR_QUOTA_EXCEEDED (more than 512),
 * ERROR_NO_MEMORY.
 */
int protected_find(struct protected_scope *scope, struct plan_source *source, int fd,
                   enum protected_role role, struct error *e);

#endif
