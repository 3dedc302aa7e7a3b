/*
 * run/options.h - what one run is given: the command, its plan, its streams and its limits.
 */
#ifndef CARREL_RUN_OPTIONS_H
#define CARREL_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include "base/error.h"
#include "event/event.h"
#include "plan/plan.h"
#include "run/wall.h"
#include "sources/sources.h"
#include "spec/spec.h"
#include "wire/command.h"

enum { RUN_CAPTURE_MAX = 1 << 20 };

struct run_options {
        /* Starts the process that becomes the maker of a box: gives its socket (WIRE_BOX_BEGIN,
         * blocking), and the process, which is waited for. */
        int (*start)(int *ret_socket, pid_t *ret_pid, struct error *e);
        const struct plan *plan;
        const struct sources *sources; /* the plan's, borrowed; NULL: none */
        /*
         * What is executed; with WIRE_EXEC_TTY at a pseudo-terminal inside, and `in` is the
         * caller's terminal. Its size and limits are added. With WIRE_EXEC_AS_CALLER the plan is
         * plan_build_net_only(): the command gets in, out and err themselves, and stays in the
         * caller's session, process group and directory. SIGTERM and SIGHUP are forwarded; a
         * terminal sends SIGINT and SIGQUIT to the command too.
         */
        struct wire_command command;
        bool captures;     /* keep output for the result instead of passing it on */
        bool escapes;      /* show control bytes as text if `out` or `err` is a terminal */
        unsigned sanitize; /* removed from the output: a mask of text/sanitize.h; not with a
                              terminal */
        int in, out, err;  /* the caller's, borrowed; not passed into the box. in -1: empty input */
        uint64_t timeout_ms;   /* SPEC_UNSET: none */
        uint64_t cpu_ms;       /* SPEC_UNSET: none */
        uint64_t output_bytes; /* SPEC_UNSET: no limit */
        unsigned cpu_count;
        uint32_t switched_off; /* enum plan_switch; 0 in the shipped program */
        /* NULL: the list is empty, and no destination can be reached */
        const struct run_wall_options *wall;
        /*
         * WIRE_EXEC_AS_CALLER: SIGUSR1 arrived from this process. Returns the new list, borrowed as
         * `wall` is, or NULL: nothing changes.
         */
        const struct run_wall_options *(*changed)(void *data, const struct signalfd_siginfo *by);
        void *data; /* of changed() */
        /* Called with the command's output as it is read (`which`: 1, 2), before any of it is shown
         * or dropped. Output is then copied, not spliced. NULL: not called. */
        void (*seen)(int which, const char *bytes, size_t len);
        bool sees_input; /* seen() is also called with standard input (`which`: 0), unless -t */
        /* Called with what the command did, in the order of the reports; all come before
         * sandbox_run() returns. Texts are borrowed. NULL: not called. */
        void (*fact)(const struct event *e);
        /* Called once, at the first refused connection. NULL: refusals are only in the result. */
        void (*refused)(const struct wire_wall_denied *first);
};

#endif
