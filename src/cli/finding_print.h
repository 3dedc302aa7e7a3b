/*
 * cli/finding_print.h - prints errors and warnings, for people and for programs.
 *
 * Text from a file or a command line may hold bytes that control a terminal: it is always escaped
 * here (E05). Colours only if the stream is a terminal and NO_COLOR is not set.
 */
#ifndef CARREL_CLI_FINDING_PRINT_H
#define CARREL_CLI_FINDING_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/findings.h"
#include "text/json.h"

/*
 * Writes text in a form that is safe on a terminal: control bytes, DEL, C1 controls, direction
 * marks and bytes that are not UTF-8 become \xHH or \u{HHHH}. A line feed becomes "\n" unless
 * `keeps_lines`.
 */
void print_escaped(FILE *out, const char *text, bool keeps_lines);

/* Should this stream have colours? */
bool print_wants_colour(FILE *out);

/* "file:line:column: error: sentence", then code, place, reason and hint. `file` may be NULL. */
void print_error(FILE *out, const char *file, const struct error *e);
void print_warning(FILE *out, const char *file, const struct warning *w);

/* Every error and warning, errors first. */
void print_findings(FILE *out, const char *file, const struct findings *findings);

/*
 * Prints the warnings of a manifest that change what a run gets. Remarks on the file's style are
 * left to `carrel check`; print_is_remark() recognises them.
 */
bool print_is_remark(const char *name);
void print_run_warnings(FILE *out, const char *file, const struct findings *findings);

/*
 * After the first of several errors: prints how many more there are, and the command that shows
 * them.
 */
void print_more_errors(FILE *out, const char *file, const struct findings *findings);

/* {"code","path","line","column","reason","message","hint"} as a value; line and column 0 become
 * null. */
void json_error(struct json_writer *w, const struct error *e);

/* The members "errors" and "warnings" of an open map. */
void json_findings(struct json_writer *w, const struct findings *findings);

/*
 * Prints on standard error the limits (enum outcome_limit) that a command reached without being
 * ended, each with a fix.
 */
void print_limits_reached(unsigned reached);

/*
 * Prints on standard error that standard output could not be written, with the reason if `sys` is
 * not 0. Returns 125.
 */
int print_unwritten(int sys);

/*
 * Prints the writer's text and a newline, and ends the writer. Returns 0, or 125 if memory or the
 * stream failed.
 */
int json_print(struct json_writer *w, FILE *out);

/*
 * Prints a failure of the command itself: {"error": {...}} on stdout with `is_json`, else as
 * print_error() on stderr. Returns the code's exit status.
 */
int print_failure(const char *file, const struct error *e, bool is_json);

#endif
