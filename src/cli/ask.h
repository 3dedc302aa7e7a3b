/*
 * cli/ask.h - what the commands share that speak to a daemon: reaching it, its errors, its sandboxes as JSON, times for people.
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
        const char *state;                     /* --state, or NULL */
        bool is_json;
        const char *words[ASK_WORDS_MAX];  size_t word_count;
        struct carrel *c;                      /* after ask_open() */
};

/* The rows that every such command has, for its own table of options. */
#define ASK_ROWS(a) { "--state", &(a)->state, NULL }, { "--json", NULL, &(a)->is_json }

/* Reads options and words, `words_min` to `words_max` of them; a missing one is named by `what` ("the id of a sandbox"). */
int ask_read(struct ask *a, int argc, char **argv, const struct option_row *rows, size_t row_count, size_t words_min, size_t words_max,
             const char *what, struct error *e);

/* Reaches the daemon. 0, or the exit status after telling why not. */
int ask_open(struct ask *a);

/* Ends it, and gives `status` back. */
int ask_close(struct ask *a, int status);

/* Tells a failure, of the command line or of the daemon; gives the exit status. `file` is the manifest that a place is in, or NULL. */
int ask_wrong(const struct ask *a, const struct error *e);
int ask_failed(const struct ask *a, const char *file, const struct carrel_error *e);

/* No sandbox of this id: as the daemon says it. */
int ask_no_sandbox(const struct ask *a, const char *id);

/* One sandbox as REST has it, as a value. And one exec. */
void json_sandbox(struct json_writer *w, const struct carrel_sandbox *s);
void json_exec(struct json_writer *w, const struct carrel_exec_info *x);
void json_denials(struct json_writer *w, const char *name, const struct carrel_denials *all);     /* a member: a list */

/* Prints {…} with one sandbox, or its lines for people. Gives the exit status. */
int print_sandbox(const struct ask *a, const struct carrel_sandbox *s);

/* For people, where it is made or asked about: what its manifest asks for and does not get; no remarks on how the file is written. */
void print_sandbox_warnings(const struct ask *a, const struct carrel_sandbox *s);

/* "350 ms", "12 s", "5 min", "3 h", "2 d". Into `out` (SPAN_TEXT bytes), which it gives. */
const char *span_text(uint64_t ms, char *out);

/* How long ago, or how far ahead, a moment of the real-time clock is; 0 when on the other side. */
uint64_t span_since(uint64_t moment_ms);
uint64_t span_until(uint64_t moment_ms);

/* -- tables for people ----------------------------------------------------------------------------------------------- */

enum { TABLE_COLUMNS_MAX = 8 };

/* Cells are escaped. Call once with `out` NULL for each row, then again with a stream. */
struct table { size_t widths[TABLE_COLUMNS_MAX]; };
void table_row(struct table *t, FILE *out, const char *const *cells, size_t count);

#endif
