/*
 * maker/gitdir.h - one repository in a directory of the host: was it made or changed since a moment, and what would git of the host run in it?
 *
 * Changes are seen by the inodes' times of change, which a command cannot set. Nothing is followed but directories: no symbolic link.
 */
#ifndef CARREL_MAKER_GITDIR_H
#define CARREL_MAKER_GITDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

enum { GITDIR_RUNS_ROOM = 1024, GITDIR_PATH_ROOM = 4096 };

enum gitdir_flag {
        GITDIR_SUBMODULE = 1u << 0,    /* core.worktree may lead upwards */
        GITDIR_WORKTREE = 1u << 1,     /* a linked worktree's: commondir may lead to the repository above it */
};

struct gitdir {
        bool is_new;                   /* made, as far as can be seen */
        bool is_changed;               /* its configuration, or what git runs in it */
        char runs[GITDIR_RUNS_ROOM];   /* one a line: keys that are not harmless, "hooks/NAME", "commondir", "config"; "" : nothing */
};

/* Was the inode made, changed or renamed at `since` (wall clock) or later? Where a file system keeps whole seconds, two of them more count. */
bool gitdir_is_since(const struct stat *st, const struct timespec *since);

/*
 * Looks at the repository `git` (a directory: .git, or a bare one). `is_moved`: its own name, or one on the way to it, is of that time: then it is judged
 * whatever the times in it. Fills `runs` where it is new, changed or moved.
 */
void gitdir_look(int git, const struct timespec *since, unsigned flags, bool is_moved, struct gitdir *ret);

/* Where a file `name` of `dir` leads ("gitdir: PATH"), as it is written: 0, or -1 where it says nothing of the kind. Room: GITDIR_PATH_ROOM. */
int gitdir_read_link(int dir, const char *name, char *ret);

#endif
