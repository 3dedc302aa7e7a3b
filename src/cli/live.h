/*
 * cli/live.h - follows an exec for a person or a script: output as it comes, input, signals, a
 * terminal.
 */
#ifndef CARREL_CLI_LIVE_H
#define CARREL_CLI_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "carrel/carrel.h"
#include "outcome/time_limit.h"

struct live_options {
        struct carrel *c;
        const char *id;        /* of the sandbox */
        struct carrel_exec *x; /* borrowed */
        /* Signals are sent to the command, and input too if has_input. If false, the first
         * signal ends the watching. */
        bool is_owner;
        bool has_input, has_terminal, is_raw;
        /* the sandbox's, borrowed: the first refusal is reported when it happens; NULL: not
         * reported */
        struct carrel_events *events;
        void (*refused)(const struct live_options *o); /* with `events`: reports it; called once */
        /* stop when both are reached; CARREL_NONE: stop when the command ends */
        uint64_t stdout_end, stderr_end;
};

enum live_result {
        LIVE_FAILED = -1, /* the error is set */
        LIVE_ENDED,       /* carrel_exec_end() has the result */
        LIVE_STOPPED,     /* offsets reached, or watching ended */
        /* the wait for a port is over: carrel_exec_port() has the result; the command still runs */
        LIVE_PORT,
        LIVE_READER_GONE, /* standard output's reader is gone */
        /* standard output could not be written for another reason, which was printed on standard
         * error */
        LIVE_UNWRITTEN,
};

/* Keeps signals for live_follow(): call it before the exec is started. Returns 0 or -1. */
int live_begin(struct carrel_error *e);

/* Copies the output to standard output and standard error until the end. */
enum live_result live_follow(const struct live_options *o, struct carrel_error *e);

/*
 * Prints on standard error why the command did not end by itself, and what was dropped. `x` holds
 * its time limit.
 */
void live_print_end(const struct carrel_exec *x);

/* The exec's time limit, as far as it is known. */
struct time_limit live_time_limit(uint64_t ms, const char *by);

#endif
