/*
 * git/index.h - does a repository's index track a name? A reader of git's index, versions 2, 3
 * and 4.
 *
 * What the index tracks is the project's content: git must be able to check it out, merge and
 * rebase it. The index itself is written by every process that can write in the repository, so its
 * answer only loosens a rule that strict mode keeps.
 */
#ifndef CARREL_GIT_INDEX_H
#define CARREL_GIT_INDEX_H

#include <stddef.h>

enum { GIT_INDEX_MAX = 32 << 20 }; /* bytes of an index; a longer one is not read */

enum git_tracks { GIT_TRACKS_UNKNOWN, GIT_TRACKS_NO, GIT_TRACKS_YES };

/*
 * Whether `name` ("/" between pieces) is a tracked file or link, or a directory that holds one.
 * UNKNOWN for every index that is not read to its last byte: another version, damage, one that is
 * split or sparse, one with SHA-256. The caller takes that for NO.
 */
enum git_tracks git_index_tracks(const void *bytes, size_t len, const char *name);

/* Calls `each` with the path of every gitlink (a submodule, or another repository within), as far
 * as the index is read. 0: to its last byte; else -1. */
int git_index_links(const void *bytes, size_t len, void (*each)(void *arg, const char *name),
                    void *arg);

/* The same for every tracked file and link. */
int git_index_files(const void *bytes, size_t len, void (*each)(void *arg, const char *name),
                    void *arg);

#endif
