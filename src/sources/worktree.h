/*
 * sources/worktree.h - finds the repository of a workspace that is a linked worktree (git worktree
 * add): its `.git` is a file that points there.
 */
#ifndef CARREL_SOURCES_WORKTREE_H
#define CARREL_SOURCES_WORKTREE_H

#include "base/arena.h"
#include "base/error.h"

struct worktree {
        /* the repository's directory: absolute, without links; NULL: not a linked worktree */
        const char *common;
        const char *at;    /* where git inside looks for the repository */
        const char *index; /* the worktree's index, relative to `common` */
};

/*
 * Examines `.git` in the directory `fd`, whose path is `host_path` and which is mounted at `at`. A
 * repository counts as the worktree's only if its own record (worktrees/NAME/gitdir) points back to
 * this directory. The caller judges who owns it. Errors: ERROR_MOUNT_DENIED "worktree" if `.git`
 * leads out of the directory to anything else; ERROR_NO_MEMORY.
 */
int worktree_find(struct arena *arena, int fd, const char *host_path, const char *at,
                  struct worktree *ret, struct error *e);

/* Fails with the reason and the way out. Always returns -1. */
int worktree_refuse(const char *where, const char *why, struct error *e);

#endif
