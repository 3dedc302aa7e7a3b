/*
 * cli/trial_child.h - runs one command of carrel in a child, with a deadline.
 */
#ifndef CARREL_CLI_TRIAL_CHILD_H
#define CARREL_CLI_TRIAL_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include "cli/commands.h"

enum { TRIAL_CHILD_LATE = -1, TRIAL_CHILD_STOPPED = -2, TRIAL_CHILD_WORDS = 12 };

struct trial_child {
        const struct command *command;
        const char *words[TRIAL_CHILD_WORDS]; /* with the command's name; ended by NULL */
        const char *state;                    /* CARREL_STATE; NULL: as it is */
        const char *label;                    /* a progress line on a terminal; NULL: none */
        uint64_t deadline_ms;
};

/*
 * Nothing to read, and standard output is dropped. What it writes to standard error goes to `said`,
 * cut at `room`, with a NUL. Returns its exit status (125 if a signal ended it), TRIAL_CHILD_LATE,
 * or TRIAL_CHILD_STOPPED: `trial_child_stop` was set by a signal. In both it was killed.
 */
int trial_child_run(const struct trial_child *c, char *said, size_t room);

/* From here on SIGINT, SIGTERM and SIGHUP stop a child, and the caller can clean up. */
void trial_child_catch(void);
/* Ends this process as the caught signal would have, if there was one. */
void trial_child_release(void);

#endif
