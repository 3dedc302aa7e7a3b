/*
 * cli/left.h - what a command left in a workspace that programs of the host act on: lines on standard error, or a member of the result.
 */
#ifndef CARREL_CLI_LEFT_H
#define CARREL_CLI_LEFT_H

#include "sandbox/run.h"
#include "text/json.h"

/* One line for each on standard error; nothing where nothing was left. */
void left_print(const struct run_result *r);

/* The member "left_behind" of an open map: a list, empty where nothing was left. */
void left_write_json(struct json_writer *w, const struct run_result *r);

#endif
