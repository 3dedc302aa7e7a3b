/*
 * cli/ask.h - shared code of the commands that talk to a daemon: connecting, errors, sandboxes as
 * JSON, times for people.
 */
#ifndef CARREL_CLI_ASK_H
#define CARREL_CLI_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "carrel/carrel.h"
#include "cli/options.h"
#include "text/json.h"

enum { ASK_WORDS_MAX = 2, SPAN_TEXT = 24 };

struct ask {
        const char *state; /* --state, or NULL */
        bool is_json;
        const char *words[ASK_WORDS_MAX];
        size_t word_count;
        struct carrel *c; /* after ask_open() */
};

/* The option rows that every such command has. */
#define ASK_ROWS(a)                           \
        { "--state", &(a)->state, NULL },     \
        {                                     \
                "--json", NULL, &(a)->is_json \
        }

/*
 * Reads options and `words_min` to `words_max` words. `what` names a missing word in the message
 * ("the id of a sandbox").
 */
int ask_read(struct ask *a, int argc, char **argv, const struct option_row *rows, size_t row_count,
             size_t words_min, size_t words_max, const char *what, struct error *e);

/* Connects to the daemon. Returns 0, or the exit status after printing the error. */
int ask_open(struct ask *a);

/* Closes the connection and returns `status`. */
int ask_close(struct ask *a, int status);

/*
 * Print a failure of the command line or of the daemon and return the exit status. `file` is the
 * manifest that a place refers to, or NULL.
 */
int ask_wrong(const struct ask *a, const struct error *e);
int ask_failed(const struct ask *a, const char *file, const struct carrel_error *e);

/* Prints that there is no sandbox with this id, in the daemon's words. */
int ask_no_sandbox(const struct ask *a, const char *id);

/* Write one sandbox, or one exec, as a value in REST's form. */
void json_sandbox(struct json_writer *w, const struct carrel_sandbox *s);
void json_exec(struct json_writer *w, const struct carrel_exec_info *x);
/* a member with a list */
void json_denials(struct json_writer *w, const char *name, const struct carrel_denials *all);

/* Prints {…} with one sandbox, or lines for people. Returns the exit status. */
int print_sandbox(const struct ask *a, const struct carrel_sandbox *s);

/*
 * For people, when a sandbox is created or shown: what its manifest asks for and does not get. No
 * remarks on the file's style.
 */
void print_sandbox_warnings(const struct ask *a, const struct carrel_sandbox *s);

/* Writes "350 ms", "12 s", "5 min", "3 h 20 min" or "2 d 5 h" to `out` (SPAN_TEXT bytes) and
 * returns it. */
const char *span_text(uint64_t ms, char *out);

/* Milliseconds since, or until, a time of the real-time clock; 0 if it is on the other side. */
uint64_t span_since(uint64_t moment_ms);
uint64_t span_until(uint64_t moment_ms);

/* -- tables for people ------------------------------------------------------------------------- */

enum { TABLE_COLUMNS_MAX = 8 };

/* Cells are escaped. Call once with `out` NULL for each row, then again with a stream. */
struct table {
        size_t widths[TABLE_COLUMNS_MAX];
};
void table_row(struct table *t, FILE *out, const char *const *cells, size_t count);

#endif
