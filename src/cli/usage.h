/*
 * cli/usage.h - the usage line and the help of a command, from its table.
 */
#ifndef CARREL_CLI_USAGE_H
#define CARREL_CLI_USAGE_H

#include <stdio.h>

#include "cli/commands.h"
#include "cli/options.h"

enum { USAGE_MAX = 2048, USAGE_TERM_MAX = 64, USAGE_DOC_MAX = 512 };

/*
 * Writes what follows "carrel NAME", each part after a blank: " [-q] ID"; cut off at `room` bytes
 * with the NUL. Returns `out`.
 */
const char *usage_line(const struct command *c, char *out, size_t room);

/* Write "--timeout T", "rm NAME" and "... (repeatable)". Each returns `out`. */
const char *usage_option(const struct option *row, char out[USAGE_TERM_MAX]);
const char *usage_operand(const struct operand *o, char out[USAGE_TERM_MAX]);
const char *usage_doc(const struct option *row, char *out, size_t room);

/* Prints "  TERM  DOC" with `width` columns for the term, in lines of at most 80. */
void usage_row(FILE *out, int width, const char *term, const char *doc);

/* Prints the command's help: what it does, usage, options, notes, example. */
void usage_print(FILE *out, const struct command *c);

#endif
