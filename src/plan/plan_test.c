/* plan/plan_test.c - what plan/plan.h promises of a whole plan, on made-up hosts. */
#include "plan/bench_test.h"

#include <sched.h>
#include <stdlib.h>

#include "plan/pack.h"

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
