/*
 * plan/plan.h - what will be done, step by step: a printable list made from spec, facts and request.
 *
 * The plan is what the user sees (`carrel plan`), what policy may judge and audit records, and what the maker
 * executes: nothing is done that is not in it.
 */
#ifndef CARREL_PLAN_PLAN_H
#define CARREL_PLAN_PLAN_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/findings.h"
#include "plan/host_facts.h"
#include "plan/request.h"
#include "plan/step.h"
#include "spec/spec.h"
#include "text/json.h"

/* Who counts the CPU time that limits.cpu_ms caps. */
enum plan_cpu { PLAN_CPU_NONE, PLAN_CPU_GROUP, PLAN_CPU_RLIMIT };

struct plan {
        const char *id;
        const struct step *steps;      /* in order: HOST, BOX, GUEST */
        size_t step_count;
        size_t source_count;
        const char *cwd;               /* where commands start, inside */
        const char *shell;
        enum plan_cpu cpu;
        bool counts_pids;              /* a group counts the tasks that were not started */
        bool counts_oom;               /* a memory kill can be told from another kill */
        bool is_on_image;              /* /tmp and the home lie on a disk, and do not count against memory_mb */
        uint64_t disk_floor_mb;        /* free space below which the tree is stopped, 0: none */
};

/*
 * Builds the plan in `arena`. Limits that this host cannot enforce warn in `findings` as
 * "limit_unenforceable:<field>"; isolation that it cannot give is ERROR_CAPABILITY_UNAVAILABLE. An egress list that no wall can
 * hold a box to is ERROR_EGRESS_UNENFORCEABLE. Pure.
 */
int plan_build(struct arena *arena, const struct spec *spec, const struct host_facts *facts,
               const struct plan_request *request, const struct plan **ret, struct findings *findings,
               struct error *e);

/* The plan as a JSON object, and as lines of text for people (NUL-terminated, in `arena`; NULL without memory). */
void plan_write_json(struct json_writer *w, const struct plan *plan);
const char *plan_text(struct arena *arena, const struct plan *plan);

#endif
