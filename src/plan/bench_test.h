/*
 * plan/bench_test.h - a plan made from a made-up host, for the tests of this room.
 *
 * Each test sets up a bench, changes what it is about, builds the plan and tears the bench down.
 */
#ifndef CARREL_PLAN_BENCH_TEST_H
#define CARREL_PLAN_BENCH_TEST_H

#include "base/unit.h"
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

#define ID "0123456789abcdef"
#define UNSET SPEC_UNSET

struct bench {
        struct arena arena;
        struct findings findings;
        struct spec spec;
        struct host_facts facts;
        struct plan_request request;
        const struct plan *plan;
        struct error error;
};

static inline void
place(struct cgroup_place *p, int version, const char *parent)
{
        p->version = version;
        (void)snprintf(p->parent, sizeof p->parent, "%s", parent);
}

static inline void
host_v1(struct cgroup_facts *c)
{
        place(&c->place[CGROUP_MEMORY], 1, "/sys/fs/cgroup/memory");
        place(&c->place[CGROUP_PIDS], 1, "/sys/fs/cgroup/pids");
        place(&c->place[CGROUP_CPU], 1, "/sys/fs/cgroup/cpu,cpuacct");
        place(&c->place[CGROUP_CPUACCT], 1, "/sys/fs/cgroup/cpu,cpuacct");
        place(&c->place[CGROUP_IO], 1, "/sys/fs/cgroup/blkio");
        c->place[CGROUP_MEMORY].is_swap_limited = c->place[CGROUP_MEMORY].is_socket_limited = true;
}

static inline void
host_v2(struct cgroup_facts *c)
{
        for (int i = 0; i < CGROUP_CONTROLLER_MAX; i++)
                place(&c->place[i], 2, "/sys/fs/cgroup");
        c->place[CGROUP_MEMORY].is_swap_limited = true;
        (void)snprintf(c->unified, sizeof c->unified, "/sys/fs/cgroup");
        (void)snprintf(c->enable[0], sizeof c->enable[0], "/sys/fs/cgroup");
        c->enable_count = 1;
        c->has_kill = true;
}

/*
 * The version 1 controllers are mounted below the mount point of version 2; version 2 has io alone.
 */
static inline void
host_hybrid(struct cgroup_facts *c)
{
        host_v1(c);
        place(&c->place[CGROUP_IO], 2, "/sys/fs/cgroup");
        place(&c->place[CGROUP_CPUACCT], 2, "/sys/fs/cgroup");
        (void)snprintf(c->unified, sizeof c->unified, "/sys/fs/cgroup");
        (void)snprintf(c->enable[0], sizeof c->enable[0], "/sys/fs/cgroup");
        c->enable_count = 1;
        c->has_kill = true;
}

static inline void
host_none(struct cgroup_facts *c)
{
        c->why_none = "nothing may be made here";
}

static inline void
setup(struct bench *b)
{
        static const struct host_dir dirs[] = { { "/usr", false, "" },
                                                { "/bin", true, "usr/bin" } };

        memset(b, 0, sizeof *b);
        arena_init(&b->arena, 8 << 20);
        findings_init(&b->findings, &b->arena);
        b->spec.limits = (struct spec_limits){ 30000, UNSET, UNSET, UNSET, UNSET, 1024,
                                               UNSET, UNSET, UNSET, UNSET, false, 0 };
        b->facts.has_user_ns = b->facts.has_seccomp = b->facts.has_mount_api = true;
        b->facts.landlock_abi = 4;
        memcpy(b->facts.dirs, dirs, sizeof dirs);
        b->facts.dir_count = 2;
        b->facts.etc[0].path = "/etc/ld.so.cache";
        b->facts.etc_count = 1;
        b->facts.cpus = (struct host_cpus){ "0-3", "0-3", "0,2-3" };
        b->request = (struct plan_request){ .id = ID, .outside_uid = 1001, .outside_gid = 1002 };
}

static inline int
build(struct bench *b)
{
        return plan_build(&b->arena, &b->spec, &b->facts, &b->request, &b->plan, &b->findings,
                          &b->error);
}

static inline void
must_build(struct bench *b)
{
        if (build(b) < 0)
                fail_msg("no plan: %s", b->error.message);
}

static inline void
teardown(struct bench *b)
{
        arena_fini(&b->arena);
}

static inline const struct step *
find_step(const struct plan *plan, enum step_op op, const char *path, const char *text)
{
        for (size_t i = 0; i < plan->step_count; i++) {
                const struct step *s = &plan->steps[i];

                if (s->op == op && (!path || strcmp(s->path, path) == 0) &&
                    (!text || strcmp(s->text, text) == 0))
                        return s;
        }
        return NULL;
}

static inline size_t
count_op(const struct plan *plan, enum step_op op)
{
        size_t count = 0;

        for (size_t i = 0; i < plan->step_count; i++)
                count += plan->steps[i].op == op;
        return count;
}

static inline bool
has_warning(const struct findings *f, const char *name)
{
        for (const struct warning *w = f->warnings; w; w = w->next)
                if (strcmp(w->name, name) == 0)
                        return true;
        return false;
}

/* -- mounts ------------------------------------------------------------------------------------ */

static const struct plan_protect protects[] = {
        { "SANDBOX.md", PROTECT_FILE, "says" },    { ".git/hooks", PROTECT_DIRECTORY, "hooks" },
        { ".git/config", PROTECT_FILE, "config" }, { ".claude", PROTECT_ABSENT, "agent" },
        { ".envrc", PROTECT_CONTENT, "direnv" },   { "new/.git", PROTECT_MAY_BE_MADE, "git" },
};
static const char *const sockets[] = { "run/s.sock" };
static const char *const submounts[] = { "below" };

enum { SOURCE_WORK, SOURCE_DATA, SOURCE_FILE, SOURCE_TOOL, SOURCE_NESTED, SOURCE_MAX };

static const struct plan_source sources[SOURCE_MAX] = {
        [SOURCE_WORK] = { "/home/u/work", 11, 101, 1001, 1002, true, NULL, 0, sockets, 1, protects,
                          6 },
        [SOURCE_DATA] = { "/srv/data", 12, 102, 5, 6, true, NULL, 0, sockets, 1, protects, 6 },
        [SOURCE_FILE] = { "/srv/file", 13, 103, 5, 6, false, NULL, 0, NULL, 0, NULL, 0 },
        [SOURCE_TOOL] = { "/opt/tool", 14, 104, 0, 0, true, NULL, 0, NULL, 0, NULL, 0 },
        [SOURCE_NESTED] = { "/srv/nested", 15, 105, 5, 6, true, submounts, 1, sockets, 1, NULL, 0 },
};

static const struct plan_mount mounts[] = {
        { SOURCE_NESTED, "/workspace/inner", true, false },
        { SOURCE_TOOL, "/opt/tool", true, true },
        { SOURCE_WORK, "/workspace", false, false },
        { SOURCE_DATA, "/mnt/data", true, false },
        { SOURCE_FILE, "/mnt/file", true, false },
};

static inline void
setup_mounts(struct bench *b)
{
        setup(b);
        b->request.sources = sources;
        b->request.source_count = SOURCE_MAX;
        b->request.keeping[0] = "/state/kept/1";
        b->request.mounts = mounts;
        b->request.mount_count = sizeof mounts / sizeof *mounts;
}

#endif
