/*
 * plan/refuse.c - what is never planned.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 * Theory: invariant one, fail closed (P2): what a host cannot give is refused by name before anything is planned, never left out.
 */
#include "plan/refuse.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct need {
        size_t offset;
        const char *name, *what;
};

/* Without one of these a box would be weaker than it says: invariant one refuses. */
static const struct need needs[] = {
        { offsetof(struct host_facts, has_user_ns), "user_namespaces", "user namespaces" },
        { offsetof(struct host_facts, has_seccomp), "seccomp", "system call filters (seccomp)" },
        { offsetof(struct host_facts, has_mount_api), "mount_api", "the mount calls open_tree, move_mount, mount_setattr" },
};

static int
refuse(struct error *e, const char *reason, const char *what)
{
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "", reason, "this machine has no %s, and a sandbox needs them", what);
        error_hint(e, "Run `carrel doctor`: it names what is missing and the command that mends it.");
        return -1;
}

static int
check_host(const struct host_facts *facts, struct error *e)
{
        for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
                if (!*(const bool *)((const char *)facts + needs[i].offset))
                        return refuse(e, needs[i].name, needs[i].what);
        if (facts->landlock_abi == 0)
                return refuse(e, "landlock", "Landlock rules");
        return 0;
}

static int
check_egress(const struct spec *spec, struct error *e)
{
        if (spec->egress_count == 0)
                return 0;
        (void)fail_at(e, ERROR_EGRESS_UNENFORCEABLE, "network/egress", "no_gate",
                      "network.egress names %zu destination%s, and this version cannot yet hold a sandbox to a list",
                      spec->egress_count, spec->egress_count == 1 ? "" : "s");
        e->line = spec->egress[0].line;
        e->column = spec->egress[0].column;
        return -1;
}

/* Is `dir` the mount point, or does it lie beneath it? */
static bool
would_hide(const char *at, const char *dir)
{
        size_t len = strlen(at);

        return strncmp(dir, at, len) == 0 && (dir[len] == '\0' || dir[len] == '/');
}

/* A mount over what a box is made of would leave no program to run. */
static int
check_mounts(const struct host_facts *facts, const struct plan_request *request, struct error *e)
{
        for (size_t i = 0; i < request->mount_count; i++) {
                const char *at = request->mounts[i].at, *hidden = would_hide(at, "/etc") ? "/etc" : NULL;
                char path[32];

                for (size_t d = 0; d < facts->dir_count && !hidden; d++)
                        hidden = would_hide(at, facts->dirs[d].path) ? facts->dirs[d].path : NULL;
                if (!hidden && would_hide(at, PLAN_HOME) && strcmp(at, PLAN_HOME) != 0)
                        hidden = PLAN_HOME;
                if (!hidden)
                        continue;
                (void)snprintf(path, sizeof path, "mounts/%zu/at", i);
                (void)fail_at(e, ERROR_MOUNT_INVALID, request->mounts[i].is_tool ? "metadata/carrel/tools" : path, "reserved",
                              "a mount at %.200s would hide %s, which every sandbox is made of", at, hidden);
                error_hint(e, "Mount at a path of its own, such as /workspace or /mnt/data; what lies in %s is there already.", hidden);
                return -1;
        }
        return 0;
}

int
plan_refuse(const struct spec *spec, const struct host_facts *facts, const struct plan_request *request, struct error *e)
{
        return check_egress(spec, e) < 0 || check_host(facts, e) < 0 || check_mounts(facts, request, e) < 0 ? -1 : 0;
}
