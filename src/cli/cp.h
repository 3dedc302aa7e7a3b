/*
 * cli/cp.h - what the two directions of `carrel cp` share. Nobody else includes this.
 */
#ifndef CARREL_CLI_CP_H
#define CARREL_CLI_CP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "cli/ask.h"

enum { CP_DEPTH_MAX = 200, CP_PATH_MAX = 4096, CP_BUFFER = 256 * 1024 };

struct copying {
        struct ask ask;
        const char *id, *inside, *here;        /* sandbox, path inside ("" for its working directory), path here or "-" */
        bool is_quiet, shows_progress;
        uint64_t files, bytes, left_out, shown_ms;
};

/* The whole copy in one direction; gives the exit status after telling what went wrong. */
int copy_in(struct copying *c);
int copy_out(struct copying *c);

/* Tells a failure of this side (`sys` errno) or of that one; gives the exit status. */
int cp_wrong(struct copying *c, int sys, const char *what, const char *path);
int cp_failed(struct copying *c, const struct carrel_error *e);

/* Counts bytes that were copied, and shows how far it is from time to time, where a person is looking. */
void cp_progress(struct copying *c, uint64_t bytes);
void cp_progress_end(struct copying *c);

/* Something that is not copied, and why. */
void cp_leave_out(struct copying *c, const char *path, const char *why);

/* "a" and "b" as "a/b"; "" and "." vanish, slashes at the end of `a` too. 0, or -1 when it does not fit in CP_PATH_MAX. */
int cp_join(char *out, const char *a, const char *b);

/* The last part of a path; `fallback` where that is "", ".", ".." or "/". */
void cp_base(char *out, const char *path, const char *fallback);

#endif
