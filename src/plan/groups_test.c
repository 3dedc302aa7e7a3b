/*
 * plan/groups_test.c - each limit is its steps in control groups of either version, or a warning.
 */
#include "plan/bench_test.h"

#include <sys/resource.h>

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
                                /* of a living box its group may get a higher number later */
                                assert_int_equal(
                                        b.plan->steps[k].number2,
                                        b.plan->counts_pids && rows[i].is_living
                                                ? SPEC_PIDS + 2 + 64u
                                                : rows[i].pids + 1 +
                                                          (strstr(rows[i].steps, "unified") !=
                                                                   NULL &&
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

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_limit_is_its_steps_or_its_warning),
                cmocka_unit_test(a_box_that_stays_has_a_v2_group),
                cmocka_unit_test(a_controller_without_its_limit_warns),
                cmocka_unit_test(limits_choose_the_control_group),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
