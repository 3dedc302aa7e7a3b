/*
 * audit/walk.h - the lines of an audit log, in order, while others append or remove files.
 */
#ifndef CARREL_AUDIT_WALK_H
#define CARREL_AUDIT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/files.h"
#include "base/error.h"

/* A reader begins again so often while files are removed. */
enum { AUDIT_READS_MAX = 1000 };

struct audit_log;

/* Called for each whole line. Returns 0 to go on, 1 to end, -1 with an error. */
typedef int audit_line_fn(void *ctx, const char *line, size_t len, struct error *e);

struct audit_walk {
        audit_line_fn *each;
        void *ctx;
        uint64_t from;    /* lines before this entry are left out */
        size_t torn;      /* found at the end of the last file */
        const char *file; /* being read; lives until the next one */
        char name[AUDIT_FILE_NAME_MAX];
};

/*
 * Calls `each` for the lines that are there when it begins. Errors: those of `each`,
 * ERROR_AUDIT_BROKEN "chain.tampered" (a line is cut off or too long), ERROR_AUDIT_UNAVAILABLE,
 * ERROR_NO_MEMORY.
 */
int audit_walk_log(struct audit_log *log, struct audit_walk *w, struct error *e);

/* Did audit_walk_log() fail because a file was removed after it was listed? */
bool audit_walk_was_removed(int result, const struct error *e);

#endif
