/*
 * cli/finding_print.h - errors and warnings, for people and for programs.
 *
 * Whatever came from a file or a command line may hold bytes that steer a terminal: here they are always escaped
 * (E05). Colours only where a terminal is listening and NO_COLOR is not set.
 */
#ifndef CARREL_CLI_FINDING_PRINT_H
#define CARREL_CLI_FINDING_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/findings.h"
#include "text/json.h"

/*
 * Writes text so that a terminal can only show it: control bytes, DEL, C1 controls, direction marks and bytes that
 * are not UTF-8 become \xHH or \u{HHHH}; a line feed becomes "\n" unless `keeps_lines`.
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
 * What a run has to say of its manifest: every warning that changes what the command gets, but no remarks on how the file
 * is written; those are for `carrel check`.
 */
bool print_is_remark(const char *name);
void print_run_warnings(FILE *out, const char *file, const struct findings *findings);

/* After the first error of several: how many more there are, and what shows them. */
void print_more_errors(FILE *out, const char *file, const struct findings *findings);

/* {"code","path","line","column","reason","message","hint"} as a value; line and column 0 become null. */
void json_error(struct json_writer *w, const struct error *e);

/* The members "errors" and "warnings" of an open map. */
void json_findings(struct json_writer *w, const struct findings *findings);

/* The limits (enum outcome_limit) that a command met and that did not end it, on standard error, each with what to do. */
void print_limits_reached(unsigned reached);

/* Says on standard error that standard output could not be written, and why where `sys` is not 0. Answers 125. */
int print_unwritten(int sys);

/* Prints what is in the writer and a line end, and ends it. Answers 0, or 125 where memory or the stream failed. */
int json_print(struct json_writer *w, FILE *out);

/* A failure of the command itself: {"error": {...}} on stdout with `is_json`, else as print_error() on stderr.
 * Answers the code's exit status. */
int print_failure(const char *file, const struct error *e, bool is_json);

#endif
