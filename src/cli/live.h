/*
 * cli/live.h - an exec as a person or a script sees it: output as it comes, input, signals, a terminal.
 */
#ifndef CARREL_CLI_LIVE_H
#define CARREL_CLI_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "carrel/carrel.h"
#include "event/time_limit.h"

struct live_options {
        struct carrel *c;
        const char *id;                /* of the sandbox */
        struct carrel_exec *x;         /* borrowed */
        bool is_owner;                 /* signals go to the command, and input if has_input; else the first one ends the watching */
        bool has_input, has_terminal, is_raw;
        struct carrel_events *events;          /* of the sandbox, borrowed: the first refusal is said when it happens; NULL: not */
        void (*refused)(const struct live_options *o);         /* with `events`: says it; called once */
        uint64_t stdout_end, stderr_end;       /* stop when both were reached; CARREL_NONE: at the command's end */
};

enum live_result {
        LIVE_FAILED = -1,              /* the error was written */
        LIVE_ENDED,                    /* carrel_exec_end() says how */
        LIVE_STOPPED,                  /* offsets reached, or watching was ended */
        LIVE_PORT,                     /* the wait for a port is over: carrel_exec_port() says how; the command goes on */
        LIVE_READER_GONE,              /* of standard output */
        LIVE_UNWRITTEN,                /* standard output could not be written for another reason, which was said on standard error */
};

/* Signals are kept for live_follow() from here on: call it before the exec is started. 0 or -1. */
int live_begin(struct carrel_error *e);

/* Standard output and standard error get what comes, until the end. */
enum live_result live_follow(const struct live_options *o, struct carrel_error *e);

/* An ending that is not the command's own, and what was dropped, in words on standard error. `x` says which limit on its time it had. */
void live_print_end(const struct carrel_exec *x);

/* The limit on its time, as far as it is known. */
struct time_limit live_time_limit(uint64_t ms, const char *by);

#endif
