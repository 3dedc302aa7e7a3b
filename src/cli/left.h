/*
 * cli/left.h - prints what a command left in a workspace on which host programs act: on standard
 * error, or as a member of the result.
 */
#ifndef CARREL_CLI_LEFT_H
#define CARREL_CLI_LEFT_H

#include "sandbox/run.h"
#include "text/json.h"

/* Prints one line for each on standard error; nothing if the list is empty. */
void left_print(const struct run_result *r);

/* Writes the member "left_behind" of an open map: a list, possibly empty. */
void left_write_json(struct json_writer *w, const struct run_result *r);

#endif
