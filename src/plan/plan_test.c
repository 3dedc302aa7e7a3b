/* plan/plan_test.c - what plan/plan.h promises, on made-up hosts. */
#include "base/unit.h"
#include "plan/plan.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plan/pack.h"

#define ID "0123456789abcdef"
#define UNSET SPEC_UNSET

/* -- what a plan is made from ------------------------------------------------------------------ */

struct bench {
        struct arena arena;
        struct findings findings;
        struct spec spec;
        struct host_facts facts;
        struct plan_request request;
        const struct plan *plan;
        struct error error;
};

static void
place(struct cgroup_place *p, int version, const char *parent)
{
        p->version = version;
        (void)snprintf(p->parent, sizeof p->parent, "%s", parent);
}

static void
host_v1(struct cgroup_facts *c)
{
        place(&c->place[CGROUP_MEMORY], 1, "/sys/fs/cgroup/memory");
        place(&c->place[CGROUP_PIDS], 1, "/sys/fs/cgroup/pids");
        place(&c->place[CGROUP_CPU], 1, "/sys/fs/cgroup/cpu,cpuacct");
        place(&c->place[CGROUP_CPUACCT], 1, "/sys/fs/cgroup/cpu,cpuacct");
        place(&c->place[CGROUP_IO], 1, "/sys/fs/cgroup/blkio");
        c->place[CGROUP_MEMORY].is_swap_limited = c->place[CGROUP_MEMORY].is_socket_limited = true;
}

static void
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
static void
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

static void
host_none(struct cgroup_facts *c)
{
        c->why_none = "nothing may be made here";
}

static void
setup(struct bench *b)
{
        static const struct host_dir dirs[] = { { "/usr", false, "" },
                                                { "/bin", true, "usr/bin" } };

        memset(b, 0, sizeof *b);
        arena_init(&b->arena, 8 << 20);
        findings_init(&b->findings, &b->arena);
        b->spec.limits = (struct spec_limits){ 30000, UNSET, UNSET, UNSET, UNSET,
                                               1024,  UNSET, UNSET, UNSET, UNSET };
        b->facts.has_user_ns = b->facts.has_seccomp = b->facts.has_mount_api = true;
        b->facts.landlock_abi = 4;
        memcpy(b->facts.dirs, dirs, sizeof dirs);
        b->facts.dir_count = 2;
        b->facts.etc[0].path = "/etc/ld.so.cache";
        b->facts.etc_count = 1;
        b->facts.cpus = (struct host_cpus){ "0-3", "0-3", "0,2-3" };
        b->request = (struct plan_request){ .id = ID, .outside_uid = 1001, .outside_gid = 1002 };
}

static int
build(struct bench *b)
{
        return plan_build(&b->arena, &b->spec, &b->facts, &b->request, &b->plan, &b->findings,
                          &b->error);
}

static void
must_build(struct bench *b)
{
        if (build(b) < 0)
                fail_msg("no plan: %s", b->error.message);
}

static void
teardown(struct bench *b)
{
        arena_fini(&b->arena);
}

static const struct step *
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

static size_t
count_op(const struct plan *plan, enum step_op op)
{
        size_t count = 0;

        for (size_t i = 0; i < plan->step_count; i++)
                count += plan->steps[i].op == op;
        return count;
}

static bool
has_warning(const struct findings *f, const char *name)
{
        for (const struct warning *w = f->warnings; w; w = w->next)
                if (strcmp(w->name, name) == 0)
                        return true;
        return false;
}

/* -- limits ------------------------------------------------------------------------------------ */

struct limit_row {
        const char *what;
        void (*host)(struct cgroup_facts *);
        size_t field; /* of struct spec_limits */
        uint64_t value;
        const char *steps;   /* the group steps, in order: "op path=text;" */
        const char *warning; /* NULL: none */
};

#define LIMIT(member) offsetof(struct spec_limits, member)
#define GROUP "/sys/fs/cgroup/carrel-" ID
#define MEMORY "/sys/fs/cgroup/memory/carrel-" ID
#define TCP "cgroup_limit " MEMORY "/memory.kmem.tcp.limit_in_bytes="
#define PIDS "/sys/fs/cgroup/pids/carrel-" ID
#define CPU "/sys/fs/cgroup/cpu,cpuacct/carrel-" ID
#define BLKIO "/sys/fs/cgroup/blkio/carrel-" ID
#define ENABLE "cgroup_enable /sys/fs/cgroup/cgroup.subtree_control=+memory +pids +cpu +io;"

static const struct limit_row limit_rows[] = {
        { "v1 memory", host_v1, LIMIT(memory_mb), 64,
          "cgroup_make " MEMORY "=;cgroup_limit " MEMORY "/memory.limit_in_bytes=67108864;"
          "cgroup_limit " MEMORY "/memory.memsw.limit_in_bytes=67108864;" TCP
          "67108864;cgroup_watch " MEMORY "/memory.oom_control=;cgroup_join " MEMORY "=;",
          NULL },
        { "v1 memory beyond any number", host_v1, LIMIT(memory_mb), 9007199254740991,
          "cgroup_make " MEMORY "=;cgroup_limit " MEMORY
          "/memory.limit_in_bytes=9223372036853727232;"
          "cgroup_limit " MEMORY "/memory.memsw.limit_in_bytes=9223372036853727232;" TCP
          "9223372036853727232;cgroup_watch " MEMORY "/memory.oom_control=;cgroup_join " MEMORY
          "=;",
          NULL },
        { "v1 pids", host_v1, LIMIT(pids), 20,
          "cgroup_make " PIDS "=;cgroup_limit " PIDS "/pids.max=21;cgroup_watch " PIDS
          "/pids.events=;cgroup_join " PIDS "=;",
          NULL },
        { "v1 pids, all there are", host_v1, LIMIT(pids), 4194304,
          "cgroup_make " PIDS "=;cgroup_limit " PIDS "/pids.max=4194304;cgroup_watch " PIDS
          "/pids.events=;cgroup_join " PIDS "=;",
          NULL },
        { "v1 pids, all but one", host_v1, LIMIT(pids), 4194303,
          "cgroup_make " PIDS "=;cgroup_limit " PIDS "/pids.max=4194304;cgroup_watch " PIDS
          "/pids.events=;cgroup_join " PIDS "=;",
          NULL },
        { "v1 cpu share", host_v1, LIMIT(cpu_millicores), 250,
          "cgroup_make " CPU "=;cgroup_limit " CPU "/cpu.cfs_quota_us=25000;cgroup_join " CPU "=;",
          NULL },
        { "v1 cpu time", host_v1, LIMIT(cpu_ms), 500,
          "cgroup_make " CPU "=;cgroup_watch " CPU "/cpuacct.usage=;cgroup_join " CPU "=;", NULL },
        { "v1 io", host_v1, LIMIT(io_read_bps), 4096,
          "cgroup_make " BLKIO "=;cgroup_limit " BLKIO
          "/blkio.throttle.read_bps_device=8:0 4096;cgroup_join " BLKIO "=;",
          NULL },
        { "v1 io, writing", host_v1, LIMIT(io_write_bps), 4096,
          "cgroup_make " BLKIO "=;cgroup_limit " BLKIO
          "/blkio.throttle.write_bps_device=8:0 4096;cgroup_join " BLKIO "=;",
          NULL },
        { "v2 memory", host_v2, LIMIT(memory_mb), 64,
          ENABLE "cgroup_make " GROUP "=;cgroup_limit " GROUP
                 "/memory.max=67108864;cgroup_limit " GROUP "/memory.swap.max=0;"
                 "cgroup_limit " GROUP "/memory.oom.group=1;cgroup_watch " GROUP
                 "/memory.events=;cgroup_join " GROUP "=unified;",
          NULL },
        { "v2 pids", host_v2, LIMIT(pids), 20,
          ENABLE "cgroup_make " GROUP "=;cgroup_limit " GROUP "/pids.max=21;cgroup_watch " GROUP
                 "/pids.events=;cgroup_join " GROUP "=unified;",
          NULL },
        { "v2 cpu share", host_v2, LIMIT(cpu_millicores), 1500,
          ENABLE "cgroup_make " GROUP "=;cgroup_limit " GROUP
                 "/cpu.max=150000 100000;cgroup_join " GROUP "=unified;",
          NULL },
        { "v2 cpu time", host_v2, LIMIT(cpu_ms), 500,
          ENABLE "cgroup_make " GROUP "=;cgroup_watch " GROUP "/cpu.stat=;cgroup_join " GROUP
                 "=unified;",
          NULL },
        { "v2 io", host_v2, LIMIT(io_write_bps), 4096,
          ENABLE "cgroup_make " GROUP "=;cgroup_limit " GROUP
                 "/io.max=8:0 wbps=4096;cgroup_join " GROUP "=unified;",
          NULL },
        { "hybrid memory: a v1 group is not taken for the v2 one", host_hybrid, LIMIT(memory_mb),
          64,
          ENABLE "cgroup_make " MEMORY "=;cgroup_limit " MEMORY "/memory.limit_in_bytes=67108864;"
                 "cgroup_limit " MEMORY "/memory.memsw.limit_in_bytes=67108864;" TCP
                 "67108864;cgroup_watch " MEMORY "/memory.oom_control=;"
                 "cgroup_join " MEMORY "=;",
          NULL },
        { "hybrid io: v2 alone has it, and it is enabled there", host_hybrid, LIMIT(io_read_bps), 9,
          ENABLE "cgroup_make " GROUP "=;cgroup_limit " GROUP
                 "/io.max=8:0 rbps=9;cgroup_join " GROUP "=unified;",
          NULL },
        { "no groups: memory", host_none, LIMIT(memory_mb), 64, "",
          "limit_unenforceable:memory_mb" },
        { "no groups: cpu share", host_none, LIMIT(cpu_millicores), 64, "",
          "limit_unenforceable:cpu_millicores" },
        { "no groups: cpu time", host_none, LIMIT(cpu_ms), 64, "", "limit_unenforceable:cpu_ms" },
        { "no groups: reading", host_none, LIMIT(io_read_bps), 64, "",
          "limit_unenforceable:io_read_bps" },
        { "no groups: writing", host_none, LIMIT(io_write_bps), 64, "",
          "limit_unenforceable:io_write_bps" },
        { "no groups: tasks are capped by a resource limit", host_none, LIMIT(pids), 64, "", NULL },
};

static const char *
group_steps(struct arena *arena, const struct plan *plan)
{
        const char *text = "";

        for (size_t i = 0; i < plan->step_count; i++) {
                const struct step *s = &plan->steps[i];

                if (s->op >= STEP_CGROUP_ENABLE && s->op <= STEP_CGROUP_WATCH)
                        text = arena_format(arena, "%s%s %s=%s;", text, step_name(s->op), s->path,
                                            (s->flags & STEP_UNIFIED) != 0 ? "unified" : s->text);
        }
        return text;
}

static const struct node pids_member = { .kind = NODE_INT, .key = "pids" },
                         limits_map = { .kind = NODE_MAP, .key = "limits", .first = &pids_member },
                         carrel_map = { .kind = NODE_MAP, .key = "carrel", .first = &limits_map },
                         written_pids = { .kind = NODE_MAP, .first = &carrel_map };

static void
each_limit_is_its_steps_or_its_warning(void **state)
{
        static const char *const disks[] = { "8:0" };

        (void)state;
        for (size_t i = 0; i < sizeof limit_rows / sizeof *limit_rows; i++) {
                const struct limit_row *row = &limit_rows[i];
                struct bench b;
                const char *got;

                setup(&b);
                row->host(&b.facts.cgroup);
                b.spec.metadata =
                        row->field == offsetof(struct spec_limits, pids) ? &written_pids : NULL;
                b.request.disks = disks;
                b.request.disk_count = 1;
                *(uint64_t *)(void *)((char *)&b.spec.limits + row->field) = row->value;
                must_build(&b);
                got = group_steps(&b.arena, b.plan);
                if (row->host == host_v2 || row->host == host_hybrid || row->host == host_v1 ||
                    !row->warning)
                        if (b.findings.warning_count != 0)
                                fail_msg("%s: warns %s", row->what, b.findings.warnings->name);
                if (strcmp(got, row->steps) != 0)
                        fail_msg("%s:\n     got %s\nexpected %s", row->what, got, row->steps);
                if (row->warning && !has_warning(&b.findings, row->warning))
                        fail_msg("%s: no warning", row->what);
                teardown(&b);
        }
}

/*
 * A living sandbox is frozen, killed and counted by one group of the v2 hierarchy. It has no second
 * one, with or without a limit.
 */
static void
a_box_that_stays_has_a_v2_group(void **state)
{
        static const struct {
                const char *what;
                void (*host)(struct cgroup_facts *);
                bool is_living;
                uint64_t pids;
                uint32_t switched_off;
                const char *steps;
        } rows[] = {
                { "v2, for one command", host_v2, false, UNSET, 0, ENABLE },
                { "v2", host_v2, true, UNSET, 0,
                  ENABLE "cgroup_make " GROUP "=;cgroup_join " GROUP "=unified;" },
                { "v2 with a limit", host_v2, true, 20, 0,
                  ENABLE "cgroup_make " GROUP "=;cgroup_limit " GROUP
                         "/pids.max=22;cgroup_watch " GROUP "/pids.events=;cgroup_join " GROUP
                         "=unified;" },
                { "v1 and v2", host_hybrid, true, 20, 0,
                  ENABLE "cgroup_make /sys/fs/cgroup/pids/carrel-" ID
                         "=;cgroup_limit /sys/fs/cgroup/pids/carrel-" ID
                         "/pids.max=22;cgroup_watch /sys/fs/cgroup/pids/carrel-" ID
                         "/pids.events=;cgroup_make " GROUP
                         "=;cgroup_join /sys/fs/cgroup/pids/carrel-" ID "=;cgroup_join " GROUP
                         "=unified;" },
                { "v1 alone", host_v1, true, UNSET, 0, "" },
                { "v1 alone with a limit: no group an exec, no child ready", host_v1, true, 20, 0,
                  "cgroup_make /sys/fs/cgroup/pids/carrel-" ID
                  "=;cgroup_limit /sys/fs/cgroup/pids/carrel-" ID
                  "/pids.max=21;cgroup_watch /sys/fs/cgroup/pids/carrel-" ID
                  "/pids.events=;cgroup_join /sys/fs/cgroup/pids/carrel-" ID "=;" },
                { "no groups", host_none, true, UNSET, 0, "" },
                { "limits are off", host_v2, true, UNSET, SWITCH_LIMITS, "" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct bench b;
                const char *got;

                setup(&b);
                rows[i].host(&b.facts.cgroup);
                b.request.is_living = rows[i].is_living;
                b.request.switched_off = rows[i].switched_off;
                b.spec.limits.pids = rows[i].pids;
                must_build(&b);
                got = group_steps(&b.arena, b.plan);
                if (strcmp(got, rows[i].steps) != 0)
                        fail_msg("%s:\n     got %s\nexpected %s", rows[i].what, got, rows[i].steps);
                for (size_t k = 0; k < b.plan->step_count;
                     k++) /* the prepared child is not one of the payload's tasks */
                        if (b.plan->steps[k].op == STEP_RLIMIT &&
                            b.plan->steps[k].number == RLIMIT_NPROC && rows[i].switched_off == 0)
                                assert_int_equal(
                                        b.plan->steps[k].number2,
                                        rows[i].pids + 1 +
                                                (strstr(rows[i].steps, "unified") != NULL &&
                                                 rows[i].is_living) +
                                                (b.plan->counts_pids ? 64u : 0u));
                teardown(&b);
        }
}

static void
a_controller_without_its_limit_warns(void **state)
{
        static const struct {
                enum cgroup_controller c;
                size_t field;
                const char *warning;
        } rows[] = {
                { CGROUP_MEMORY, LIMIT(memory_mb), "limit_unenforceable:memory_mb" },
                { CGROUP_CPU, LIMIT(cpu_millicores), "limit_unenforceable:cpu_millicores" },
                { CGROUP_IO, LIMIT(io_read_bps), "limit_unenforceable:io_read_bps" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                for (int version = 1; version <= 2; version++) {
                        struct bench b;

                        setup(&b);
                        (version == 1 ? host_v1 : host_v2)(&b.facts.cgroup);
                        b.facts.cgroup.place[rows[i].c].is_limited = true;
                        b.request.disks = (const char *const[]){ "8:0" };
                        b.request.disk_count = 1;
                        *(uint64_t *)(void *)((char *)&b.spec.limits + rows[i].field) = 100;
                        must_build(&b);
                        if (count_op(b.plan, STEP_CGROUP_LIMIT) != 0 ||
                            !has_warning(&b.findings, rows[i].warning))
                                fail_msg("%s on version %d", rows[i].warning, version);
                        teardown(&b);
                }
        }
}

static void
limits_choose_the_control_group(void **state)
{
        struct bench b;

        (void)state;
        setup(&b);
        b.spec.limits.cpu_ms = 100;
        must_build(&b);
        assert_int_equal(b.plan->cpu, PLAN_CPU_RLIMIT);
        assert_false(b.plan->counts_oom);
        teardown(&b);
        setup(&b);
        host_v1(&b.facts.cgroup);
        b.spec.limits.cpu_ms = b.spec.limits.memory_mb = 100;
        must_build(&b);
        assert_int_equal(b.plan->cpu, PLAN_CPU_GROUP);
        assert_true(b.plan->counts_oom);
        teardown(&b);
        setup(&b);
        host_v2(&b.facts.cgroup);
        b.facts.cgroup.must_leave = true;
        b.spec.limits.pids = 7;
        must_build(&b);
        assert_int_equal(b.plan->cpu, PLAN_CPU_NONE);
        assert_true(find_step(b.plan, STEP_CGROUP_LEAVE, "/sys/fs/cgroup/carrel-runtime", NULL) <
                    find_step(b.plan, STEP_CGROUP_ENABLE, NULL, NULL));
        assert_int_equal(count_op(b.plan, STEP_CGROUP_MAKE), 1);
        assert_int_equal(count_op(b.plan, STEP_CGROUP_JOIN), 1);
        assert_non_null(find_step(b.plan, STEP_RLIMIT, NULL, NULL));
        teardown(&b);
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

static void
setup_mounts(struct bench *b)
{
        setup(b);
        b->request.sources = sources;
        b->request.source_count = SOURCE_MAX;
        b->request.keeping[0] = "/state/kept/1";
        b->request.mounts = mounts;
        b->request.mount_count = sizeof mounts / sizeof *mounts;
}

static void
mounts_are_where_they_should_be(void **state)
{
        const struct step *work, *s;
        struct bench b;

        (void)state;
        setup_mounts(&b);
        must_build(&b);
        work = find_step(b.plan, STEP_BIND, "/workspace", NULL);
        assert_non_null(work);
        assert_true((work->flags & STEP_READ_ONLY) == 0 && work->source == SOURCE_WORK);
        assert_true(work->number == 11 && work->number2 == 101); /* the directory that was judged */
        /* something is mounted below it, and an overlay would not show that */
        s = find_step(b.plan, STEP_BIND, "/workspace/inner", NULL);
        assert_true(s > work && (s->flags & STEP_READ_ONLY) != 0 &&
                    (s->flags & STEP_RECURSIVE) != 0);
        assert_non_null(find_step(b.plan, STEP_MASK, "/workspace/inner/run/s.sock", NULL));
        assert_non_null(find_step(b.plan, STEP_OVERLAY, "/mnt/data", NULL));
        assert_null(find_step(b.plan, STEP_BIND, "/mnt/data", NULL));
        assert_null(find_step(b.plan, STEP_MASK, "/mnt/data/run/s.sock", NULL));
        assert_non_null(find_step(b.plan, STEP_MASK, "/workspace/run/s.sock", NULL));
        s = find_step(b.plan, STEP_BIND, "/mnt/file", NULL);
        assert_true(s && (s->flags & STEP_READ_ONLY) != 0 && (s->flags & STEP_DIRECTORY) == 0);
        assert_non_null(find_step(b.plan, STEP_OVERLAY, "/opt/tool", NULL));
        assert_int_equal(count_op(b.plan, STEP_TREE), 0);
        assert_int_equal(b.plan->source_count, SOURCE_MAX);
        teardown(&b);
        setup_mounts(&b);
        b.facts.is_privileged = true;
        must_build(&b);
        assert_int_equal(count_op(b.plan, STEP_TREE), 5);
        teardown(&b);
}

/* The directory of Carrel's own beneath a mount is covered, and its parents cannot be moved. */
static void
a_hidden_directory_is_covered(void **state)
{
        const struct step *mask, *pin;
        struct plan_source mine[SOURCE_MAX];
        struct bench b;

        (void)state;
        setup_mounts(&b);
        memcpy(mine, sources, sizeof mine);
        mine[SOURCE_WORK].hidden = ".local/state/carrel";
        b.request.sources = mine;
        must_build(&b);
        mask = find_step(b.plan, STEP_MASK, "/workspace/.local/state/carrel", NULL);
        assert_non_null(mask);
        assert_int_equal(mask->flags & (STEP_DIRECTORY | STEP_OPTIONAL), STEP_DIRECTORY);
        pin = find_step(b.plan, STEP_PIN, "/workspace/.local/state", NULL);
        assert_true(pin && pin < mask && find_step(b.plan, STEP_PIN, "/workspace/.local", NULL));
        teardown(&b);
}

static void
protected_names_are_held(void **state)
{
        static const char list[] = "m.claude\0c.envrc\0tnew/.git";
        const struct step *s;
        struct bench b;

        (void)state;
        setup_mounts(&b);
        must_build(&b);
        assert_int_equal(count_op(b.plan, STEP_GUARD), 1); /* only for the writable mount */
        s = find_step(b.plan, STEP_GUARD, "/home/u/work", NULL);
        assert_true(s && s->source == SOURCE_WORK && s->text_len == sizeof list - 1);
        assert_memory_equal(s->text, list, sizeof list);
        assert_int_equal(count_op(b.plan, STEP_SURVEY), 1);
        s = find_step(b.plan, STEP_SURVEY, "/home/u/work", NULL);
        assert_true(s && s->source == SOURCE_WORK);
        assert_non_null(find_step(b.plan, STEP_KEEPING, "/state/kept/1", NULL));
        for (size_t i = 0; i < sizeof protects / sizeof *protects; i++) {
                char path[64];

                (void)snprintf(path, sizeof path, "/workspace/%s", protects[i].path);
                if (!find_step(b.plan, STEP_FREEZE, path, NULL) !=
                    (protects[i].state != PROTECT_FILE && protects[i].state != PROTECT_DIRECTORY))
                        fail_msg("%s is held, or is not", path);
        }
        assert_int_equal(count_op(b.plan, STEP_PIN), 1); /* .git, only once */
        s = find_step(b.plan, STEP_PIN, "/workspace/.git", NULL);
        assert_true(s && s < find_step(b.plan, STEP_FREEZE, "/workspace/.git/hooks", NULL));
        assert_null(find_step(b.plan, STEP_FREEZE, "/mnt/data/SANDBOX.md", NULL));
        teardown(&b);
}

static void
landlock_allows_exactly_what_may_be_written(void **state)
{
        static const char *const writable[] = { "/tmp",    "/run",       "/dev/shm",
                                                PLAN_HOME, "/workspace", PLAN_MQUEUE };
        struct bench b;
        size_t seen = 0;

        (void)state;
        setup_mounts(&b);
        must_build(&b);
        for (size_t i = 0; i < b.plan->step_count; i++) {
                const struct step *s = &b.plan->steps[i];
                bool is_expected = false;

                if (s->op != STEP_LANDLOCK_ALLOW || s->number != ACCESS_WRITE)
                        continue;
                for (size_t k = 0; k < sizeof writable / sizeof *writable; k++)
                        is_expected |= strcmp(writable[k], s->path) == 0;
                if (!is_expected)
                        fail_msg("%s may be written", s->path);
                seen++;
        }
        assert_int_equal(seen, sizeof writable / sizeof *writable);
        assert_int_equal(find_step(b.plan, STEP_LANDLOCK, NULL, NULL)->number, 4);
        teardown(&b);
}

/* -- the whole --------------------------------------------------------------------------------- */

static void
phases_never_go_back_and_the_filter_is_last(void **state)
{
        static void (*const hosts[])(struct cgroup_facts *) = { host_none, host_v1, host_v2,
                                                                host_hybrid };

        (void)state;
        for (size_t h = 0; h < 8; h++) {
                enum step_phase phase = STEP_PHASE_HOST;
                struct plan_view view;
                struct bench b;
                void *bytes;
                size_t len;

                setup_mounts(&b);
                hosts[h % 4](&b.facts.cgroup);
                b.facts.is_privileged = h >= 4;
                b.spec.limits.memory_mb = b.spec.limits.pids = b.spec.limits.cpu_ms = 50;
                b.request.lease_path = "/run/carrel/x.lease";
                must_build(&b);
                for (size_t i = 0; i < b.plan->step_count; i++) {
                        assert_true(step_phase_of(b.plan->steps[i].op) >= phase);
                        phase = step_phase_of(b.plan->steps[i].op);
                        assert_true(b.plan->steps[i].why[0] != '\0');
                }
                /* before anything that can outlive Carrel is created */
                assert_int_equal(b.plan->steps[0].op, STEP_LEASE);
                assert_int_equal(b.plan->steps[b.plan->step_count - 1].op, STEP_FILTER);
                assert_true(find_step(b.plan, STEP_NO_NEW_PRIVS, NULL, NULL) <
                            find_step(b.plan, STEP_LANDLOCK, NULL, NULL));
                assert_true(find_step(b.plan, STEP_IDENTITY, NULL, NULL) <
                            find_step(b.plan, STEP_DROP_CAPS, NULL, NULL));
                len = plan_pack_len(b.plan->steps, b.plan->step_count);
                bytes = malloc(len);
                plan_pack(b.plan->steps, b.plan->step_count, b.plan->source_count, bytes);
                assert_int_equal(plan_unpack(bytes, len, &view), 0);
                assert_int_equal(view.step_count, b.plan->step_count);
                free(bytes);
                teardown(&b);
        }
}

struct switch_row {
        enum plan_switch part;
        enum step_op op;
        const char *path;
};

/* If a part is off, these steps are missing and no other step is added. */
static const struct switch_row switch_rows[] = {
        { SWITCH_FILTER, STEP_FILTER, NULL },      { SWITCH_LANDLOCK, STEP_LANDLOCK, NULL },
        { SWITCH_CAPS, STEP_DROP_CAPS, NULL },     { SWITCH_NO_NEW_PRIVS, STEP_NO_NEW_PRIVS, NULL },
        { SWITCH_MASK, STEP_MASK, "/proc/keys" },  { SWITCH_NET, STEP_LOOPBACK, NULL },
        { SWITCH_UTS, STEP_HOSTNAME, NULL },       { SWITCH_LIMITS, STEP_CGROUP_MAKE, NULL },
        { SWITCH_RLIMITS, STEP_RLIMIT, NULL },     { SWITCH_HIDE, STEP_HIDE, NULL },
        { SWITCH_PROTECT, STEP_GUARD, NULL },      { SWITCH_PROTECT, STEP_SURVEY, NULL },
        { SWITCH_OVERLAY, STEP_OVERLAY, NULL },    { SWITCH_SEAL, STEP_SEAL, NULL },
        { SWITCH_IDENTITY, STEP_IDENTITY, NULL },  { SWITCH_PROTECT, STEP_PIN, NULL },
        { SWITCH_READ_ONLY, STEP_OVERLAY, NULL },  { SWITCH_RESET, STEP_PRIORITY, NULL },
        { SWITCH_RLIMITS, STEP_USER_POOLS, NULL },
};

static void
a_part_that_is_off_takes_its_steps_away(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof switch_rows / sizeof *switch_rows; i++) {
                struct bench on, off;

                setup_mounts(&on);
                setup_mounts(&off);
                host_v1(&on.facts.cgroup);
                host_v1(&off.facts.cgroup);
                on.spec.limits.pids = off.spec.limits.pids = 5;
                off.request.switched_off = switch_rows[i].part;
                must_build(&on);
                must_build(&off);
                if (!find_step(on.plan, switch_rows[i].op, switch_rows[i].path, NULL))
                        fail_msg("row %zu: the step is never there", i);
                if (find_step(off.plan, switch_rows[i].op, switch_rows[i].path, NULL))
                        fail_msg("row %zu: the step stays", i);
                for (int op = 0; op < STEP_MAX; op++)
                        if (op != STEP_BIND && op != STEP_MASK &&
                            count_op(off.plan, (enum step_op)op) >
                                    count_op(on.plan, (enum step_op)op))
                                fail_msg("row %zu: more of %s", i, step_name((enum step_op)op));
                teardown(&on);
                teardown(&off);
        }
}

static void
a_namespace_for_every_part(void **state)
{
        static const struct {
                enum plan_switch part;
                uint64_t flag;
        } rows[] = {
                { SWITCH_USER_NS, CLONE_NEWUSER }, { SWITCH_PID, CLONE_NEWPID },
                { SWITCH_IPC, CLONE_NEWIPC },      { SWITCH_UTS, CLONE_NEWUTS },
                { SWITCH_NET, CLONE_NEWNET },      { SWITCH_CGROUP_NS, CLONE_NEWCGROUP },
        };
        uint64_t all = CLONE_NEWNS;

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                all |= rows[i].flag;
        for (size_t i = 0; i <= sizeof rows / sizeof *rows; i++) {
                struct bench b;

                setup(&b);
                b.request.switched_off = i < sizeof rows / sizeof *rows ? rows[i].part : 0;
                must_build(&b);
                assert_true(find_step(b.plan, STEP_SPAWN, NULL, NULL)->number ==
                            (i < sizeof rows / sizeof *rows ? all & ~rows[i].flag : all));
                teardown(&b);
        }
}

static void
starts_in_the_directory_of_the_manifest(void **state)
{
        static const struct {
                const char *cwd;
                bool has_workspace;
                const char *expected;
        } rows[] = {
                { NULL, false, PLAN_HOME },   { NULL, true, "/work" },
                { "sub", true, "/work/sub" }, { "sub", false, PLAN_HOME "/sub" },
                { "/tmp", true, "/tmp" },
        };
        static const struct spec_mount workspace = { .kind = SPEC_SOURCE_WORKSPACE, .at = "/work" };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct bench b;

                setup(&b);
                b.spec.cwd = rows[i].cwd;
                b.spec.mounts = &workspace;
                b.spec.mount_count = rows[i].has_workspace;
                must_build(&b);
                assert_string_equal(b.plan->cwd, rows[i].expected);
                assert_string_equal(b.plan->shell, "/bin/sh");
                teardown(&b);
        }
}

static void
groups_that_remain_are_reported(void **state)
{
        struct bench b;

        (void)state;
        setup(&b);
        b.facts.extra_group_count = 2;
        must_build(&b);
        assert_true(has_warning(&b.findings, "groups_kept"));
        teardown(&b);
        setup(&b);
        b.facts.extra_group_count = 2;
        b.facts.is_privileged = true;
        must_build(&b);
        assert_false(has_warning(&b.findings, "groups_kept"));
        teardown(&b);
}

/* -- in words ---------------------------------------------------------------------------------- */

static void
every_step_is_printed(void **state)
{
        struct json_writer w;
        const char *text;
        struct bench b;
        size_t lines = 0;

        (void)state;
        setup_mounts(&b);
        host_v1(&b.facts.cgroup);
        b.spec.limits.memory_mb = 10;
        must_build(&b);
        text = plan_text(&b.arena, b.plan);
        json_init(&w, false);
        plan_write_json(&w, b.plan);
        assert_false(w.is_broken);
        for (size_t i = 0; i < b.plan->step_count; i++) {
                char member[96];

                (void)snprintf(member, sizeof member,
                               "{\"index\":%zu,\"phase\":\"%s\",\"step\":\"%s\"", i,
                               step_phase_name(step_phase_of(b.plan->steps[i].op)),
                               step_name(b.plan->steps[i].op));
                if (!strstr(w.text, member))
                        fail_msg("not in the JSON: %s", member);
        }
        for (const char *at = text; *at != '\0'; at++)
                lines += *at == '\n';
        assert_int_equal(lines, b.plan->step_count);
        json_fini(&w);
        teardown(&b);
}

/*
 * A plan can contain names that a payload chose. They must not control the terminal that shows the
 * plan.
 */
static void
names_cannot_drive_a_terminal(void **state)
{
        static const char *const names[] = { "s\033[2J",
                                             "s\n0 guest",
                                             "s\x9b"
                                             "31m",
                                             "s\xc2\x9b"
                                             "31m",
                                             "s\xff\x9b"
                                             "31m",
                                             "s\x7f" };
        struct plan_source source = sources[SOURCE_WORK];
        static const struct plan_mount mount = { 0, "/workspace", false, false };

        (void)state;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                struct bench b;
                const char *text;
                size_t lines = 0;

                setup(&b);
                source.sockets = &names[i];
                b.request.sources = &source;
                b.request.mounts = &mount;
                b.request.source_count = b.request.mount_count = 1;
                must_build(&b);
                text = plan_text(&b.arena, b.plan);
                for (const char *at = text; *at != '\0'; at++) {
                        lines += *at == '\n';
                        if (((unsigned char)*at < 0x20 && *at != '\n') ||
                            (unsigned char)*at >= 0x7f)
                                fail_msg("row %zu: byte %02x", i, (unsigned)(unsigned char)*at);
                }
                assert_int_equal(lines, b.plan->step_count);
                teardown(&b);
        }
}

static void
refuses_without_memory(void **state)
{
        struct bench b;

        (void)state;
        for (size_t limit = 0; limit < 400000; limit += 20000) {
                setup(&b);
                b.arena.limit = limit;
                if (build(&b) < 0)
                        assert_true(b.error.code == ERROR_NO_MEMORY ||
                                    b.error.code == ERROR_QUOTA_EXCEEDED);
                else
                        assert_false(arena_is_full(&b.arena));
                teardown(&b);
        }
}

/* -- golden: whole plans, to be read by people; CARREL_GOLDEN=write writes them again ---------- */

static void
golden_compare(const char *name, const char *text)
{
        char path[512];
        const char *wish = getenv("CARREL_GOLDEN");
        char *kept = calloc(1, strlen(text) + 2);
        FILE *file;

        (void)snprintf(path, sizeof path, "%s/test/golden/plan/%s.txt", GOLDEN_ROOT, name);
        if (wish && strcmp(wish, "write") == 0) {
                file = fopen(path, "we");
                assert_non_null(file);
                assert_int_equal(fputs(text, file) < 0, 0);
                assert_int_equal(fclose(file), 0);
        }
        file = fopen(path, "re");
        if (!file)
                fail_msg("%s is not there", path);
        (void)!fread(kept, 1, strlen(text) + 1, file);
        (void)fclose(file);
        if (strcmp(kept, text) != 0)
                fail_msg("%s differs; CARREL_GOLDEN=write writes it anew", path);
        free(kept);
}

static void
whole_plans_are_as_they_were_read(void **state)
{
        static const struct {
                const char *name;
                void (*host)(struct cgroup_facts *);
                bool has_mounts, is_privileged;
        } rows[] = {
                { "least", host_none, false, false },
                { "v1-root-mounts", host_v1, true, true },
                { "v2-mounts", host_v2, true, false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct bench b;

                if (rows[i].has_mounts)
                        setup_mounts(&b);
                else
                        setup(&b);
                rows[i].host(&b.facts.cgroup);
                b.facts.is_privileged = rows[i].is_privileged;
                b.spec.limits.memory_mb = 256;
                b.spec.limits.pids = 512;
                b.spec.limits.cpu_ms = 1000;
                b.request.lease_path = "/run/carrel/" ID ".lease";
                must_build(&b);
                golden_compare(rows[i].name, plan_text(&b.arena, b.plan));
                teardown(&b);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(refuses_without_memory),
                cmocka_unit_test(each_limit_is_its_steps_or_its_warning),
                cmocka_unit_test(a_box_that_stays_has_a_v2_group),
                cmocka_unit_test(a_controller_without_its_limit_warns),
                cmocka_unit_test(limits_choose_the_control_group),
                cmocka_unit_test(mounts_are_where_they_should_be),
                cmocka_unit_test(a_hidden_directory_is_covered),
                cmocka_unit_test(protected_names_are_held),
                cmocka_unit_test(landlock_allows_exactly_what_may_be_written),
                cmocka_unit_test(phases_never_go_back_and_the_filter_is_last),
                cmocka_unit_test(a_part_that_is_off_takes_its_steps_away),
                cmocka_unit_test(a_namespace_for_every_part),
                cmocka_unit_test(starts_in_the_directory_of_the_manifest),
                cmocka_unit_test(groups_that_remain_are_reported),
                cmocka_unit_test(every_step_is_printed),
                cmocka_unit_test(names_cannot_drive_a_terminal),
                cmocka_unit_test(whole_plans_are_as_they_were_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
