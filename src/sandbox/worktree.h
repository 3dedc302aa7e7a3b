/*
 * sandbox/worktree.h - the repository of a workspace that is a linked worktree (git worktree add): its `.git` is a file that leads there.
 */
#ifndef CARREL_SANDBOX_WORKTREE_H
#define CARREL_SANDBOX_WORKTREE_H

#include "base/arena.h"
#include "base/error.h"

struct worktree {
        const char *common;            /* the repository's directory: absolute, without links; NULL: the workspace is no linked worktree */
        const char *at;                /* where git inside looks for it */
        const char *index;             /* the worktree's index, relative to `common` */
};

/*
 * Looks at `.git` of the directory `fd`, whose path is `host_path` and which is mounted at `at`. A repository counts as the worktree's where its own record
 * (worktrees/NAME/gitdir) leads back to this directory. Who owns it is for the caller to judge. Errors: ERROR_MOUNT_DENIED "worktree" for a `.git` that leads out of the directory
 * to anything else; ERROR_NO_MEMORY.
 */
int worktree_find(struct arena *arena, int fd, const char *host_path, const char *at, struct worktree *ret, struct error *e);

/* Refuses it, with the reason and the way out. Always returns -1. */
int worktree_refuse(const char *where, const char *why, struct error *e);

#endif
