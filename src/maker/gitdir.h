/*
 * maker/gitdir.h - examines one repository in a host directory. Was it created or changed since a
 * given time, and what would the host's git run in it?
 *
 * Changes are detected by the inodes' ctime, which a command cannot set. Only directories are
 * entered; no symbolic link is followed.
 */
#ifndef CARREL_MAKER_GITDIR_H
#define CARREL_MAKER_GITDIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

enum { GITDIR_RUNS_ROOM = 1024, GITDIR_PATH_ROOM = 4096 };

enum gitdir_flag {
        GITDIR_SUBMODULE = 1u << 0, /* core.worktree may point upwards */
        /* a linked worktree: commondir may point to the repository above it */
        GITDIR_WORKTREE = 1u << 1,
};

struct gitdir {
        bool is_new;     /* created since, as far as can be seen */
        bool is_changed; /* its configuration changed, or something that git runs in it */
        /* one per line: keys that may run a program, "hooks/NAME", "commondir", "config"; "" if
         * none */
        char runs[GITDIR_RUNS_ROOM];
        uint64_t evidence; /* of all that was examined (told.h) */
};

/*
 * Was the inode created, changed or renamed at `since` (wall clock) or later? On a file system with
 * whole seconds, the two seconds before count too.
 */
bool gitdir_is_since(const struct stat *st, const struct timespec *since);

/*
 * Examines the repository `git` (a directory: .git, or a bare repository). `is_moved`: its own
 * name, or a directory above it, changed since; the repository is then judged whatever its own
 * times are. Fills `runs` if the repository is new, changed or moved.
 */
void gitdir_look(int git, const struct timespec *since, unsigned flags, bool is_moved,
                 struct gitdir *ret);

/*
 * Reads the path in a file `name` of `dir` ("gitdir: PATH"), as written, into `ret`
 * (GITDIR_PATH_ROOM bytes). Returns 0, or -1 if the file has no such line.
 */
int gitdir_read_link(int dir, const char *name, char *ret);

#endif
