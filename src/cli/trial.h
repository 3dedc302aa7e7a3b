/*
 * cli/trial.h - a whole sandbox, made and ended, to see whether this machine can.
 */
#ifndef CARREL_CLI_TRIAL_H
#define CARREL_CLI_TRIAL_H

#include "host/try.h"

/*
 * Runs `true` in a sandbox without mounts, in a child that has 10 s, and adds the row "whole_sandbox" to *report: it works where the
 * sandbox was made, fails where making it failed, and is idle where something else refuses it, or where `report` has refused already.
 */
void trial_run(struct host_report *report);

#endif
