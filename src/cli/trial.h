/*
 * cli/trial.h - starts and ends a whole sandbox, to see whether this machine can.
 */
#ifndef CARREL_CLI_TRIAL_H
#define CARREL_CLI_TRIAL_H

#include "host/try.h"

/*
 * Runs `true` in a sandbox of the report's provider without mounts and with config: {}, in a child
 * with a deadline of 10 s, and adds the row "whole_sandbox" to *report. It works if the sandbox
 * started, and fails if starting it failed. It is idle if something else refused it, or if `report`
 * has already refused.
 */
void trial_run(struct host_report *report);

#endif
