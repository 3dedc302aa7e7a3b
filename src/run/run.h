/*
 * run/run.h - runs one command in its own sandbox, from start to its one terminal event.
 *
 * The exec contract: each call has exactly one outcome. A timeout kills the whole process tree. A
 * grandchild that holds standard output open cannot delay the return, because it dies with the box.
 * Output is live, exact, bounded and counted.
 */
#ifndef CARREL_RUN_RUN_H
#define CARREL_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include "base/error.h"
#include "boxstate/refusals.h"
#include "outcome/outcome.h"
#include "plan/plan.h"
#include "sources/sources.h"
#include "spec/spec.h"
#include "wire/command.h"

/* The lists of network.egress, if it lists anything. Everything is borrowed. */
struct run_wall_options {
        const char *id;                         /* of the sandbox */
        struct spec_names allow, private_names; /* as network.egress writes them */
        /* the host's; empty: the resolvers of resolv.conf, and no private network */
        struct spec_names resolvers, networks;
        struct wire_gate_caps caps;
        /* Called if the gate rejects a changed list (struct run_options, `changed`): that of before
         * stays. */
        void (*rejected)(int sys);
        /* Starts a gate: gives its control socket (owned by the caller, non-blocking) and its
         * process. Called again when the gate ends. */
        int (*start)(int *ret_control, pid_t *ret_pid, struct error *e);
};

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
        bool captures;    /* keep output for the result instead of passing it on */
        bool escapes;     /* show control bytes as text if `out` or `err` is a terminal */
        int in, out, err; /* the caller's, borrowed; not passed into the box. in -1: empty input */
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
        /* Called once, at the first refused connection. NULL: refusals are only in the result. */
        void (*refused)(const struct wire_wall_denied *first);
};

/* What happened to a name in a workspace on which host programs act. */
struct run_kept {
        unsigned what; /* enum wire_kept_what */
        int sys;       /* errno if it could not be moved */
        /* host path; where it is now, or ""; for a configuration: the key that may not change */
        char name[760], place[1024], key[256];
};

enum { RUN_KEPT_MAX = 128 };

struct run_result {
        struct outcome outcome;
        char *out, *err; /* captured; owned by the result */
        size_t out_len, err_len;
        uint64_t out_dropped, err_dropped;
        /* errno, if writing standard output failed for a reason other than a closed reader; else
         * 0 */
        int out_error;
        struct run_kept *kept;
        size_t kept_count; /* owned by the result */
        /* destinations in the order of their first refusal, each with a count; owned by the
         * result */
        struct refusal *denials;
        size_t denial_count;
        uint64_t denied_more; /* refused requests that are not listed in `denials` */
        bool has_no_gate;     /* at the end there was no gate, though there was a wall */
};

enum { RUN_CAPTURE_MAX = 1 << 20 };

/*
 * Runs the command and waits. Returns -1 if the command never ran: the error gives the reason
 * (ERROR_COMMAND_NOT_FOUND, _NOT_EXECUTABLE, a step that failed, ...), and nothing is left behind.
 * Returns 0 once there is an outcome.
 */
int sandbox_run(const struct run_options *options, struct run_result *ret, struct error *e);

void run_result_fini(struct run_result *r);

#endif
