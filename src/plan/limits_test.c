/*
 * plan/limits_test.c - what plan/limits.c plans for memory on hosts that count differently, and the
 * defaults.
 */
#include "base/unit.h"
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

struct bench {
        struct arena arena;
        struct findings findings;
        struct spec spec;
        struct host_facts facts;
        struct plan_request request;
        const struct plan *plan;
        struct error error;
};

/* A host with a memory control group of this version, and a manifest that limits memory. */
static void
setup(struct bench *b, int version)
{
        struct cgroup_place *memory = &b->facts.cgroup.place[CGROUP_MEMORY];

        memset(b, 0, sizeof *b);
        arena_init(&b->arena, 8 << 20);
        findings_init(&b->findings, &b->arena);
        b->spec.limits =
                (struct spec_limits){ 30000, 64,         SPEC_UNSET, SPEC_UNSET, SPEC_UNSET,
                                      1024,  SPEC_UNSET, SPEC_UNSET, SPEC_UNSET, SPEC_UNSET };
        b->facts.has_user_ns = b->facts.has_seccomp = b->facts.has_mount_api = true;
        b->facts.landlock_abi = 4;
        memory->version = version;
        memory->is_swap_limited = memory->is_socket_limited = true;
        (void)snprintf(memory->parent, sizeof memory->parent, "/sys/fs/cgroup%s",
                       version == 1 ? "/memory" : "");
        b->request = (struct plan_request){ .id = "0123456789abcdef",
                                            .outside_uid = 1001,
                                            .outside_gid = 1002 };
}

static void
must_build(struct bench *b)
{
        if (plan_build(&b->arena, &b->spec, &b->facts, &b->request, &b->plan, &b->findings,
                       &b->error) < 0)
                fail_msg("no plan: %s", b->error.message);
}

/* The step whose path ends with `tail`, or NULL. */
static const struct step *
find(const struct bench *b, enum step_op op, const char *tail)
{
        for (size_t i = 0; i < b->plan->step_count; i++) {
                const struct step *s = &b->plan->steps[i];

                if (s->op == op && strlen(s->path) >= strlen(tail) &&
                    strcmp(s->path + strlen(s->path) - strlen(tail), tail) == 0)
                        return s;
        }
        return NULL;
}

/*
 * If several commands run and memory is used up, the kernel ends one of them, not all, and keeps
 * their files.
 */
static void
out_of_memory_ends_a_box_that_runs_one_command_alone(void **state)
{
        (void)state;
        for (int version = 1; version <= 2; version++)
                for (int is_living = 0; is_living <= 1; is_living++) {
                        struct bench b;
                        const struct step *watch;

                        setup(&b, version);
                        b.request.is_living = is_living;
                        must_build(&b);
                        watch = find(&b, STEP_CGROUP_WATCH,
                                     version == 1 ? "memory.oom_control" : "memory.events");
                        assert_non_null(watch);
                        assert_int_equal(watch->number == WATCH_OOM_CONTROL,
                                         version == 1 && !is_living);
                        assert_int_equal(find(&b, STEP_CGROUP_LIMIT, "memory.oom.group") != NULL,
                                         version == 2 && !is_living);
                        assert_true(b.plan->counts_oom);
                        arena_fini(&b.arena);
                }
}

/* Version 1 without the file that makes it count these buffers. */
static void
buffers_of_sockets_are_capped_or_warned_of(void **state)
{
        (void)state;
        for (int has = 0; has <= 1; has++) {
                struct bench b;
                const struct step *cap;

                setup(&b, 1);
                b.facts.cgroup.place[CGROUP_MEMORY].is_socket_limited = has;
                must_build(&b);
                cap = find(&b, STEP_CGROUP_LIMIT, "memory.kmem.tcp.limit_in_bytes");
                assert_int_equal(cap != NULL, has);
                assert_true(!cap || strcmp(cap->text, "67108864") == 0);
                assert_int_equal(b.findings.warning_count, !has);
                assert_true(has || strcmp(b.findings.warnings->name,
                                          "limit_unenforceable:memory_mb") == 0);
                arena_fini(&b.arena);
        }
}

static uint64_t
number_of(const struct plan *plan, enum step_op op, uint64_t number2)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == op && (number2 == 0 || plan->steps[i].number2 == number2))
                        return op == STEP_RLIMIT ? plan->steps[i].flags : plan->steps[i].number;
        return UINT64_MAX;
}

/* A written limit is used unchanged. A default leaves half of the memory, and suits select(2). */
static void
defaults_are_not_what_was_written(void **state)
{
        static const struct node value = { .kind = NODE_INT, .integer = 1 };
        static const struct {
                const char *written;
                uint64_t memory_mb, size_mib, files_flags;
        } cases[] = {
                { "none", 0, 2048, STEP_SOFT },   { "none", 100000, 2048, STEP_SOFT },
                { "none", 1000, 500, STEP_SOFT }, { "disk_mb", 1000, 2048, STEP_SOFT },
                { "open_files", 1000, 500, 0 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct node member = value,
                            limits = { .kind = NODE_MAP, .key = "limits", .first = &member },
                            carrel = { .kind = NODE_MAP, .key = "carrel", .first = &limits };
                struct node metadata = { .kind = NODE_MAP, .first = &carrel };
                struct bench b;

                setup(&b, 1);
                member.key = cases[i].written;
                b.spec.metadata = &metadata;
                b.spec.limits.disk_mb = 2048;
                b.spec.limits.open_files = 65536;
                b.facts.memory_mb = cases[i].memory_mb;
                must_build(&b);
                assert_int_equal(number_of(b.plan, STEP_SCRATCH, 0), cases[i].size_mib << 20);
                assert_int_equal(number_of(b.plan, STEP_RLIMIT, 65536), cases[i].files_flags);
                arena_fini(&b.arena);
        }
}

/* As if metadata.carrel.limits.pids were written. */
static const struct node *
written_pids(void)
{
        static const struct node number = { .kind = NODE_INT, .key = "pids" },
                                 limits = { .kind = NODE_MAP, .key = "limits", .first = &number },
                                 carrel = { .kind = NODE_MAP, .key = "carrel", .first = &limits },
                                 metadata = { .kind = NODE_MAP, .first = &carrel };

        return &metadata;
}

static void
pids_follow_memory_by_default(void **state)
{
        static const struct {
                uint64_t machine_mb, memory_mb, pids, tasks;
                bool is_written;
        } rows[] = {
                { 0, SPEC_UNSET, SPEC_PIDS, 4096, false }, /* the machine's memory is unknown */
                { 512, SPEC_UNSET, SPEC_PIDS, 4096, false },
                { 32768, SPEC_UNSET, SPEC_PIDS, 4096, false },
                { 65536, SPEC_UNSET, SPEC_PIDS, 8192, false },
                { 1 << 20, SPEC_UNSET, SPEC_PIDS, 16384, false },
                { 24576, 1, SPEC_PIDS, 256, false },
                { 24576, 32, SPEC_PIDS, 256, false },
                { 24576, 64, SPEC_PIDS, 512, false },
                { 24576, 512, SPEC_PIDS, 4096, false },
                { 24576, 9007199254740991, SPEC_PIDS, 4096, false },
                { 1 << 20, 1024, SPEC_PIDS, 8192, false },
                { 1 << 20, SPEC_UNSET, 1024, 1024, false }, /* the operator's limits_max */
                { 24576, 64, 3000, 3000, true },
                { 24576, SPEC_UNSET, 50000, 50000, true },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct bench b;

                setup(&b, 2);
                b.spec.metadata = rows[i].is_written ? written_pids() : NULL;
                b.facts.memory_mb = rows[i].machine_mb;
                b.spec.limits.memory_mb = rows[i].memory_mb;
                b.spec.limits.pids = rows[i].pids;
                must_build(&b);
                for (size_t k = 0; k < b.plan->step_count; k++) {
                        const struct step *s = &b.plan->steps[k];

                        if (s->op == STEP_RLIMIT && s->number == RLIMIT_NPROC &&
                            s->number2 != rows[i].tasks + 1 /* pid 1 */)
                                fail_msg("row %d: %llu tasks, not %llu", (int)i,
                                         (unsigned long long)s->number2 - 1,
                                         (unsigned long long)rows[i].tasks);
                }
                arena_fini(&b.arena);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(out_of_memory_ends_a_box_that_runs_one_command_alone),
                cmocka_unit_test(buffers_of_sockets_are_capped_or_warned_of),
                cmocka_unit_test(defaults_are_not_what_was_written),
                cmocka_unit_test(pids_follow_memory_by_default),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
