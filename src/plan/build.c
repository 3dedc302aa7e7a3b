/*
 * plan/build.c - builds the list of steps.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 * Theory: each part of the room adds its steps to one builder, in the order of the phases. Refusals
 * come first, so that nothing is planned for a host that cannot enforce the isolation.
 */
#include "plan/builder.h"

#include <string.h>

#include "plan/pack.h"
#include "plan/protect.h"
#include "plan/refuse.h"
#include "plan/wall.h"
#include "text/nearest.h"

static void
warn_groups(struct builder *b)
{
        if (!b->facts->is_privileged && b->facts->extra_group_count > 0)
                findings_warn(b->findings, "groups_kept", "", 0, 0,
                              "%u supplementary group%s of the caller cannot be dropped without "
                              "privileges; "
                              "group-readable files that are mounted stay readable",
                              b->facts->extra_group_count,
                              b->facts->extra_group_count == 1 ? "" : "s");
}

/*
 * A name in `unprotect` that is not protected but resembles a protected one is a typing error, and
 * the intended name stays protected.
 */
static void
warn_unprotect(struct builder *b)
{
        const struct spec_names *open = &b->spec->carrel.unprotect;
        size_t count;
        const struct protect_row *rows = protect_rows(&count);

        for (size_t i = 0; i < open->count; i++) {
                struct nearest n = nearest_begin(open->items[i]);
                bool is_known = false;

                for (size_t r = 0; r < count; r++) {
                        is_known = is_known || strcmp(rows[r].path, open->items[i]) == 0;
                        (void)nearest_try(&n, rows[r].path, rows[r].path);
                }
                if (!is_known && n.found)
                        findings_warn(b->findings, "unprotect_unknown",
                                      builder_text(b, "metadata/carrel/unprotect/%zu", i), 0, 0,
                                      "%s is not protected, so nothing is opened; did you mean %s?",
                                      open->items[i], n.found);
        }
}

const char *
plan_home(const struct spec *spec)
{
        return spec->image && spec_is_root(spec) && !spec->carrel.home ? PLAN_ROOT_HOME : PLAN_HOME;
}

static const char *
default_cwd(struct builder *b)
{
        const struct spec *spec = b->spec;
        const struct plan_rootfs *rootfs = b->request->rootfs;
        const char *base = rootfs && rootfs->cwd ? rootfs->cwd : plan_home(spec);

        for (size_t i = spec->mount_count; i-- > 0;)
                if (spec->mounts[i].kind == SPEC_SOURCE_WORKSPACE)
                        base = spec->mounts[i].at;
        if (!spec->cwd)
                return base;
        return spec->cwd[0] == '/' ? spec->cwd : builder_text(b, "%s/%s", base, spec->cwd);
}

static void
make_root(struct builder *b)
{
        builder_root(b);
        builder_mounts(b);
        if (!b->request->container)
                builder_share(b);
        builder_enter(b);
        builder_container(b);
}

int
plan_build(struct arena *arena, const struct spec *spec, const struct host_facts *facts,
           const struct plan_request *request, const struct plan **ret, struct findings *findings,
           struct error *e)
{
        struct builder b = { .arena = arena,
                             .spec = spec,
                             .facts = facts,
                             .request = request,
                             .findings = findings,
                             .room = PLAN_STEPS_MAX };

        if (plan_refuse(spec, facts, request, e) < 0)
                return -1;
        b.plan = arena_new(arena, struct plan);
        b.steps = arena_array(arena, struct step, b.room);
        if (!b.plan || !b.steps)
                return fail(e, ERROR_NO_MEMORY, "no memory for a plan");
        warn_groups(&b);
        warn_unprotect(&b);
        builder_limits(&b);
        builder_sources(&b);
        builder_layers(&b);
        builder_image(&b);
        builder_runtime(&b);
        if (request->machine && plan_has_wall(spec, facts))
                builder_wall(&b);
        builder_spawn(&b);
        if (request->machine)
                builder_machine(&b);
        else
                make_root(&b);
        builder_harden(&b);
        builder_container_config(&b);
        b.plan->id = request->id;
        b.plan->cwd = default_cwd(&b);
        b.plan->shell = spec->shell ? spec->shell : "/bin/sh";
        b.plan->steps = b.steps;
        b.plan->step_count = b.count;
        b.plan->source_count = request->source_count;
        if (arena->is_starved)
                return fail(e, ERROR_NO_MEMORY, "no memory for the plan");
        if (b.is_full || arena_is_full(arena))
                return fail(e, ERROR_QUOTA_EXCEEDED,
                            "the plan needs more than %d steps or more memory than one may take",
                            PLAN_STEPS_MAX);
        *ret = b.plan;
        return 0;
}
