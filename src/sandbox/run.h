/*
 * sandbox/run.h - one command in a sandbox of its own, from start to its one terminal event.
 *
 * The exec contract: exactly one outcome; a timeout kills the whole tree; a grandchild that holds standard output open
 * cannot keep the call from returning, because it dies with the box; output is live, exact, bounded and counted.
 */
#ifndef CARREL_SANDBOX_RUN_H
#define CARREL_SANDBOX_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "base/error.h"
#include "event/outcome.h"
#include "hold/hold.h"
#include "plan/plan.h"
#include "spec/spec.h"

/* What network.egress lists, where it lists something; everything is borrowed. */
struct run_wall_options {
        const char *id;                                /* of the sandbox */
        struct spec_names allow, private_names;        /* as network.egress writes them */
        struct spec_names resolvers, networks;         /* of the host; none: those of resolv.conf, and no private network */
        struct wire_gate_caps caps;
        /* Starts a gate: its control socket (the caller's, and not blocking) and the process. Called again when it ends. */
        int (*start)(int *ret_control, pid_t *ret_pid, struct error *e);
};

struct run_options {
        const struct backend *backend;
        const struct plan *plan;
        const int *sources;            /* the plan's, in order */
        const char *const *argv;  size_t argc;
        const char *const *envp;  size_t envc;
        const char *cwd;               /* inside */
        bool wants_terminal;           /* a pseudo-terminal inside; `in` is the caller's terminal */
        bool captures;                 /* keep output for the result instead of passing it on */
        bool escapes;                  /* show control bytes where `out` or `err` is a terminal */
        int in, out, err;              /* the caller's, borrowed; never seen inside. in -1: empty input */
        uint64_t timeout_ms;           /* SPEC_UNSET: none */
        uint64_t cpu_ms;               /* SPEC_UNSET: none */
        uint64_t output_bytes;         /* SPEC_UNSET: no end */
        unsigned cpu_count;
        const int *floors;  size_t floor_count;   /* directories whose file system must keep floor_mb free */
        uint64_t floor_mb;
        uint32_t layers_off;           /* enum plan_layer; 0 in the shipped program */
        const struct run_wall_options *wall;   /* NULL: nothing is listed, and nothing reached */
        void (*refused)(const struct hold_denial *first);      /* called once, when the first thing is refused a way out; NULL: nobody is told before the end */
};

/* What became of a name in a workspace that programs of the host act on. */
struct run_kept {
        unsigned what;                 /* enum wire_kept_what */
        int sys;                       /* errno where it could not be moved */
        char name[760], place[1024], key[256];  /* on the host; where it is now, or ""; of a configuration, what may not change */
};

enum { RUN_KEPT_MAX = 128 };

struct run_result {
        struct outcome outcome;
        char *out, *err;               /* captured; owned by the result */
        size_t out_len, err_len;
        uint64_t out_dropped, err_dropped;
        int out_error;                 /* errno, where standard output could not be written for another reason than its reader; else 0 */
        struct run_kept *kept;  size_t kept_count;              /* owned by the result */
        struct refusal *denials;  size_t denial_count; /* what was refused a way out first, each with how often; owned by the result */
        uint64_t denied_more;          /* requests that were refused and are not among them */
};

enum { RUN_CAPTURE_MAX = 1 << 20 };

/*
 * Runs it and waits. -1 where the command never ran: the error says why (ERROR_COMMAND_NOT_FOUND, _NOT_EXECUTABLE, a
 * step that failed, ...), and nothing is left behind. 0 once there was an outcome.
 */
int sandbox_run(const struct run_options *options, struct run_result *ret, struct error *e);

void run_result_fini(struct run_result *r);

#endif
