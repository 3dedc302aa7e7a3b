/*
 * cli/cp.h - what the two directions of `carrel cp` share. Internal to them.
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
        const char *id, *inside,
                *here; /* sandbox, path inside ("" for its working directory), path here or "-" */
        bool is_quiet, is_recursive /* has no effect: a directory is always copied whole */,
                shows_progress;
        uint64_t files, bytes, left_out, shown_ms;
};

/* Copies in one direction. Returns the exit status, after printing any error. */
int copy_in(struct copying *c);
int copy_out(struct copying *c);

/* Print a failure on this side (`sys` is an errno) or in the sandbox; return the exit status. */
int cp_wrong(struct copying *c, int sys, const char *what, const char *path);
int cp_failed(struct copying *c, const struct carrel_error *e);

/* Counts copied bytes, and updates the progress display from time to time if it is shown. */
void cp_progress(struct copying *c, uint64_t bytes);
void cp_progress_end(struct copying *c);

/* Reports a file that is not copied, and why. */
void cp_leave_out(struct copying *c, const char *path, const char *why);

/*
 * Joins "a" and "b" to "a/b"; drops "" and "." and slashes at the end of `a`. Returns 0, or -1 if
 * it does not fit in CP_PATH_MAX.
 */
int cp_join(char *out, const char *a, const char *b);

/* Copies the last component of a path; `fallback` if that is "", ".", ".." or "/". */
void cp_base(char *out, const char *path, const char *fallback);

#endif
