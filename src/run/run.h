/*
 * run/run.h - runs one command in its own sandbox, from start to its one terminal event.
 *
 * The exec contract: each call has exactly one outcome. A timeout kills the whole process tree. A
 * grandchild that holds standard output open cannot delay the return, because it dies with the box.
 * Output is live, exact, bounded and counted.
 */
#ifndef CARREL_RUN_RUN_H
#define CARREL_RUN_RUN_H

#include "base/error.h"
#include "run/options.h"
#include "run/result.h"

/*
 * Runs the command and waits. Returns -1 if the command never ran: the error gives the reason
 * (ERROR_COMMAND_NOT_FOUND, _NOT_EXECUTABLE, a step that failed, ...), and nothing is left behind.
 * Returns 0 once there is an outcome.
 */
int sandbox_run(const struct run_options *options, struct run_result *ret, struct error *e);

#endif
