/*
 * cli/exec.h - `carrel exec`, for other commands that run something in a sandbox of the daemon.
 */
#ifndef CARREL_CLI_EXEC_H
#define CARREL_CLI_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "carrel/carrel.h"
#include "cli/ask.h"
#include "cli/options.h"

struct executing {
        struct ask ask; /* its first word is the sandbox */
        const char *cwd, *task, *key;
        uint64_t timeout_ms, wait_timeout_ms; /* 0: not given */
        struct option_list env;
        bool has_terminal, is_background, is_raw, kills_rest, has_no_input, waits_ports;
        struct carrel_command command;
};

/* Runs x->command, prints its output and how it ended. Returns the exit status. */
int exec_command(struct executing *x);

#endif
