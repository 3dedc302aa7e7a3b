/*
 * cli/trial.h - starts and ends a whole sandbox, to see whether this machine can.
 */
#ifndef CARREL_CLI_TRIAL_H
#define CARREL_CLI_TRIAL_H

#include "cli/trial_image.h"
#include "host/try.h"

struct trial_desk { /* what the trials of one report share; zeroed before */
        struct trial_image image;
        const char *kernel; /* of virtual machines, from the host file; NULL: one of /boot */
        bool boots;         /* virtual machines are started too */
};

/*
 * Runs a command in a sandbox of the report's provider, in a child with a deadline, and adds the
 * row "whole_sandbox" to *report. Providers with an image get one of Carrel's own. It works if the
 * sandbox started, and fails if starting it failed. It is idle if something else refused it, if
 * `report` has already refused, or if it was not tried: a virtual machine, without `boots`.
 * report->is_tried: a sandbox was started, or starting it failed.
 */
void trial_run(struct trial_desk *desk, struct host_report *report);

#endif
