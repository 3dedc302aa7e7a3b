/*
 * cli/gate.h - `carrel gate`: the wall without a sandbox.
 */
#ifndef CARREL_CLI_GATE_H
#define CARREL_CLI_GATE_H

#include "base/arena.h"
#include "base/error.h"
#include "plan/plan.h"
#include "policy/host_rules.h"
#include "run/run.h"
#include "spec/spec.h"

/* -- the list (gate_list.c) -------------------------------------------------------------------- */

struct gate_list {
        const char *file;
        struct spec spec;        /* egress, egress_caps and wall; nothing else is set */
        struct host_rules rules; /* the host's; resolvers and networks may be replaced */
};

/*
 * Reads the list in `file`: network.egress of a SANDBOX.md or a WORKSPACE.md, or of a block in YAML
 * or JSON; or a map with `egress`, or a list alone. Then checks each entry against the host's rules
 * (`host_file`; NULL: those of a machine without a host file). Everything lives in `arena`. Errors:
 * those of reading, ERROR_EGRESS_INVALID, ERROR_EGRESS_NOT_PERMITTED, ERROR_SCHEMA_INVALID,
 * ERROR_QUOTA_EXCEEDED.
 */
int gate_list_read(struct arena *arena, const char *file, const char *host_file,
                   struct gate_list *ret, const char **ret_about, struct error *e);

/* -- the run (gate_run.c) ---------------------------------------------------------------------- */

/* Reads the list again after SIGUSR1; `data` is passed to read(). -1: the old list stays. */
struct gate_again {
        int (*read)(void *data, struct gate_list *ret, struct error *e);
        void *data;
};

/* The steps for the calling user, in `arena`. Errors: those of plan_build_net_only(). */
int gate_plan(struct arena *arena, const struct gate_list *list, const struct plan **ret,
              struct error *e);

/*
 * Runs `argv` with this plan, on the caller's own standard streams. Returns 0 with how it ended and
 * what was refused (run_result_fini()); -1 if it did not start. Errors: those of sandbox_run().
 */
int gate_run(struct arena *arena, const struct gate_list *list, const struct plan *plan,
             const struct gate_again *again, char **argv, struct run_result *ret, struct error *e);

#endif
