/*
 * ref/reads.h - the list of files that were read to judge a manifest.
 *
 * Whatever decided what a sandbox may do must not be writable inside it, or the payload widens its
 * next sandbox (P15). So each reader of this room takes such a list and adds to it what it opened:
 * there is no way to read a file and leave it out. The list also holds each symbolic link on the
 * way to a file, and each name that was looked for and not found.
 */
#ifndef CARREL_REF_READS_H
#define CARREL_REF_READS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

enum { REF_READS_MAX = 64 };

struct ref_reads {
        const char *paths[REF_READS_MAX]; /* absolute; in the arena of the readers */
        size_t count;
};

/*
 * Adds the file `path` and the links that lead to it. `directory`: what a relative path begins at,
 * a handle or AT_FDCWD. `fd`: the file as it was opened, or -1 if it was not found. Accepts NULL
 * for `reads`: for readers of what judges nothing. Errors: ERROR_QUOTA_EXCEEDED;
 * ERROR_FILE_UNREADABLE "changed" where the path no longer leads to `fd`; ERROR_NO_MEMORY.
 */
int ref_reads_add(struct ref_reads *reads, struct arena *arena, int directory, const char *path,
                  int fd, struct error *e);

/* An absolute path as it is sent to a daemon: relative to `workspace` where it lies below it, else
 * as it is. */
const char *ref_reads_below(const char *path, const char *workspace);

#endif
