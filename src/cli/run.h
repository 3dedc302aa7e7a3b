/*
 * cli/run.h - `carrel run`, for other commands that run something in a new sandbox.
 */
#ifndef CARREL_CLI_RUN_H
#define CARREL_CLI_RUN_H

#include "cli/prepare.h"

/*
 * Runs o->command in its own sandbox, and prints how it ended. `argc`, `argv`: the command line of
 * this process. Once per process. Returns the exit status.
 */
int run_command(const struct prepare_options *o, int argc, char **argv);

#endif
