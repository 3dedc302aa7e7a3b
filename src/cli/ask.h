/*
 * cli/ask.h - shared code of the commands that talk to a daemon: connecting, errors, answers as
 * JSON, times for people.
 */
#ifndef CARREL_CLI_ASK_H
#define CARREL_CLI_ASK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "api/operation.h"
#include "base/error.h"
#include "carrel/carrel.h"
#include "cli/options.h"
#include "text/json.h"

enum { SPAN_TEXT = 24 };

struct ask {
        const char *state; /* --state, or NULL */
        bool is_json;
        char **words; /* of argv */
        size_t word_count;
        struct carrel *c; /* after ask_open() */
};

/* The options that every such command has; `a` is the struct ask in its own struct. */
#define STATE_OPTION(s, m)                                   \
        OPTION_TEXT(s, m, VALUE_DIRECTORY, "--state", "DIR", \
                    "the daemon's state directory (default: CARREL_STATE, or that of this user)")
#define ASK_OPTIONS(s, a) STATE_OPTION(s, a.state), OPTION_FLAG(s, a.is_json, "--json", JSON_DOC)

/* The options of a command that has no others. */
extern const struct option ask_options[];
/* One word: the id or name of a sandbox. */
extern const struct operand ask_sandbox[];
/* Two words: a sandbox, and the number of one of its execs. */
extern const struct operand ask_exec[];
#define ASK_NEEDS_EXEC "the id of a sandbox and the number of an exec"
#define ASK_NEEDS "the id or name of a sandbox"

/*
 * Reads a command line by the table of `c`. `into` is its own struct, which contains `a`, or `a`
 * itself. Errors: as options_read().
 */
int ask_parse(struct ask *a, const struct command *c, int argc, char **argv, void *into,
              struct error *e);

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

/*
 * Prints an answer of the library as REST answers this operation, or the answer of one that only
 * says whether something existed. Returns the exit status.
 */
int ask_json(enum operation_code op, const void *answer);
int ask_json_existed(int existed);

/* Prints {…} with one sandbox, or lines for people. Returns the exit status. */
int print_sandbox(const struct ask *a, const struct carrel_sandbox *s);

/* Does this directory have a SANDBOX.md or a WORKSPACE.md? */
bool ask_has_manifest(const char *directory);

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

/* A list as a command prints it for people: a table, or the sentence `empty`. */
struct list {
        const void *items; /* `count` of `size` bytes each */
        size_t count, size;
        const char *empty; /* the sentence if there are none */
        const char *const *heads;
        size_t columns;
        void (*row)(struct table *t, FILE *out, const void *item); /* calls table_row() */
};
void list_print(const struct list *l);

#endif
