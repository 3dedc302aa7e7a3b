/*
 * plan/plan.h - the list of steps that a run takes, printable, built from spec, facts and request.
 *
 * The user sees the plan (`carrel plan`), policy may judge it, audit records it, and the maker
 * executes it. The maker does nothing that is not in the plan.
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

/* What counts the CPU time that limits.cpu_ms caps. */
enum plan_cpu { PLAN_CPU_NONE, PLAN_CPU_GROUP, PLAN_CPU_RLIMIT };

struct plan {
        const char *id;
        const struct step *steps; /* in order: HOST, BOX, GUEST */
        size_t step_count;
        size_t source_count;
        const char *cwd; /* where commands start, inside */
        const char *shell;
        enum plan_cpu cpu;
        uint64_t pids, disk_mb; /* limits as they apply, lowered by memory; SPEC_UNSET: none */
        bool counts_pids;       /* a group counts the tasks that could not start */
        bool counts_oom;        /* a memory kill can be distinguished from another kill */
        bool is_on_image; /* /tmp and the home are on a disk and do not count against memory_mb */
        bool is_watched;  /* ... in a directory, where disk_mb is watched and not a cap */
        /* MiB of free space below which the process tree is stopped; 0: none */
        uint64_t disk_floor_mb;
};

/*
 * Builds the plan in `arena`. A limit that this host cannot enforce adds a warning to `findings`,
 * "limit_unenforceable:<field>". Missing isolation is ERROR_CAPABILITY_UNAVAILABLE. An egress list
 * that no wall can enforce is ERROR_EGRESS_UNENFORCEABLE. Pure.
 */
int plan_build(struct arena *arena, const struct spec *spec, const struct host_facts *facts,
               const struct plan_request *request, const struct plan **ret,
               struct findings *findings, struct error *e);

/*
 * The plan of `carrel gate`: only the wall of network.egress, around a program that keeps its file
 * system, identity, session and environment. Reads egress, egress_caps and wall of the spec, and of
 * the request its id and the caller's ids (outside_uid 0: no user namespace). Errors:
 * ERROR_EGRESS_UNENFORCEABLE (too many ports), ERROR_NO_MEMORY. Pure.
 */
int plan_build_net_only(struct arena *arena, const struct spec *spec,
                        const struct plan_request *request, const struct plan **ret,
                        struct error *e);

/*
 * The number of processes and threads that a sandbox may have at once: limits.pids, or what follows
 * from memory if it is not written; SPEC_UNSET: no limit.
 */
uint64_t plan_pids(const struct spec *spec, const struct host_facts *facts);

/* The home of commands, inside. */
const char *plan_home(const struct spec *spec);

/*
 * Writes the plan as a JSON object, or as text for people (NUL-terminated, in `arena`; NULL if out
 * of memory).
 */
void plan_write_json(struct json_writer *w, const struct plan *plan);
const char *plan_text(struct arena *arena, const struct plan *plan);

#endif
