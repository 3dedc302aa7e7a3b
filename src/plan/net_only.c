/*
 * plan/net_only.c - the plan of `carrel gate`: a wall around a program that keeps all else of its
 * caller.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 * Theory: a network namespace needs a privilege. Root has it; another user gets it in a user
 * namespace with its own ids. The order is forced: the filter needs the privilege that the step
 * after it drops, and both change who may trace the process, which HIDE then forbids.
 */
#include <sched.h>

#include "plan/builder.h"
#include "plan/refuse.h"

static void
ids(struct builder *b, enum step_op op, uint32_t id)
{
        struct step *s = builder_add(b, op, "", "the program keeps the ids of its caller");

        s->number = s->number2 = id;
}

static void
add_steps(struct builder *b)
{
        uint32_t uid = b->request->outside_uid;
        struct step *spawn =
                builder_add(b, STEP_SPAWN, "", "a network of its own; all else is the caller's");

        spawn->number = CLONE_NEWNET | (uid != 0 ? (uint64_t)CLONE_NEWUSER : 0u);
        if (uid != 0) {
                ids(b, STEP_MAP_UID, uid);
                ids(b, STEP_MAP_GID, b->request->outside_gid);
        }
        (void)builder_add(b, STEP_LOOPBACK, "", "programs may talk to themselves on localhost");
        builder_wall(b);
        (void)builder_add(b, STEP_BYPASSES, "",
                          "ways off this machine that pass no network device");
        (void)builder_add(b, STEP_NET_CAPS, "", "a way back into the network outside");
        (void)builder_add(b, STEP_HIDE, "",
                          "the process that opens listeners shares the program's uid");
}

int
plan_build_net_only(struct arena *arena, const struct spec *spec,
                    const struct plan_request *request, const struct plan **ret, struct error *e)
{
        struct builder b = { .arena = arena, .spec = spec, .request = request, .room = STEP_MAX };

        if (plan_refuse_ports(spec, e) < 0)
                return -1;
        b.plan = arena_new(arena, struct plan);
        b.steps = arena_array(arena, struct step, b.room);
        if (!b.plan || !b.steps)
                return fail(e, ERROR_NO_MEMORY, "no memory for a plan");
        add_steps(&b);
        *b.plan = (struct plan){ .id = request->id,
                                 .steps = b.steps,
                                 .step_count = b.count,
                                 .cwd = ".",
                                 .cpu = PLAN_CPU_NONE,
                                 .pids = SPEC_UNSET,
                                 .disk_mb = SPEC_UNSET };
        if (b.is_full || arena_is_full(arena))
                return fail(e, ERROR_NO_MEMORY, "no memory for a plan");
        *ret = b.plan;
        return 0;
}
