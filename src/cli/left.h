/*
 * cli/left.h - prints what a command left in a workspace on which host programs act: on standard
 * error, or as a member of the result.
 */
#ifndef CARREL_CLI_LEFT_H
#define CARREL_CLI_LEFT_H

#include "carrel/carrel.h"
#include "run/run.h"
#include "text/json.h"

/* Prints one line for each on standard error; nothing if the list is empty. */
void left_print(const struct run_result *r);

/*
 * The same for a sandbox of the daemon `id`: all of it, or only what was not shown before. Equal
 * lines are printed once. The last line counts those that are not listed. Flushes standard output
 * first.
 */
void left_print_all(const struct carrel_lefts *all, const char *id, bool only_new);

/* Writes the member "left_behind" of an open map: a list, possibly empty. */
void left_write_json(struct json_writer *w, const struct run_result *r);

#endif
