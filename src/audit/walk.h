/*
 * audit/walk.h - the lines of an audit log, in order, while others append or remove files.
 */
#ifndef CARREL_AUDIT_WALK_H
#define CARREL_AUDIT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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
        uint64_t from; /* lines before this entry are left out */
        size_t torn;   /* found at the end of the last file */
        char name[AUDIT_FILE_NAME_MAX];
        /* private: between two steps */
        struct audit_file_list list;
        size_t index;    /* in `list`, of the file that is read or is next */
        off_t last_size; /* of the last file, when it was listed */
        FILE *file;      /* NULL: none is open */
        off_t at, size;  /* in it */
        uint64_t number; /* of its next line */
        char *line;
        size_t room;
};

/*
 * Calls `each` for the lines that are there when it begins. Errors: those of `each`,
 * ERROR_AUDIT_BROKEN "chain.tampered" (a line is cut off or too long), ERROR_AUDIT_UNAVAILABLE,
 * ERROR_NO_MEMORY.
 */
int audit_walk_log(const struct audit_log *log, struct audit_walk *w, struct error *e);

/*
 * The same in steps, for a caller that has other things to do. audit_walk_begin() lists the files.
 * audit_walk_step() reads `bytes` or a little more: 1 if there is more, 0 at the end, -1 with an
 * error. `w` is zero except `each`, `ctx` and `from`; audit_walk_end() frees what is in it.
 */
int audit_walk_begin(const struct audit_log *log, struct audit_walk *w, struct error *e);
int audit_walk_step(const struct audit_log *log, struct audit_walk *w, size_t bytes,
                    struct error *e);
void audit_walk_end(struct audit_walk *w);

/* Did audit_walk_log() fail because a file was removed after it was listed? */
bool audit_walk_was_removed(int result, const struct error *e);

#endif
