/* plan/share_test.c - which steps a plan marks as shared. */
#include "base/unit.h"
#include "plan/plan.h"

#include <string.h>

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
setup(struct bench *b)
{
        memset(b, 0, sizeof *b);
        arena_init(&b->arena, 8 << 20);
        findings_init(&b->findings, &b->arena);
        b->spec.limits =
                (struct spec_limits){ 30000, SPEC_UNSET, SPEC_UNSET, SPEC_UNSET, SPEC_UNSET,
                                      1024,  SPEC_UNSET, SPEC_UNSET, SPEC_UNSET, SPEC_UNSET };
        b->facts.has_user_ns = b->facts.has_seccomp = b->facts.has_mount_api = true;
        b->facts.landlock_abi = 4;
        b->facts.dirs[0] = (struct host_dir){ "/usr", false, "" };
        b->facts.dir_count = 1;
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

static const struct step *
find_step(const struct plan *plan, enum step_op op, const char *path)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == op && strcmp(plan->steps[i].path, path) == 0)
                        return &plan->steps[i];
        fail_msg("no step for %s", path);
        return NULL;
}

static bool
is_shared(const struct bench *b, enum step_op op, const char *path)
{
        return (find_step(b->plan, op, path)->flags & STEP_SHARED) != 0;
}

/* What is the same for each box is marked, only as root, and with every defence on. */
static void
shared_steps_make_the_root_alone(void **state)
{
        static const struct plan_source folder = { .host_path = "/w", .is_directory = true };
        static const struct plan_mount within[] = {
                { 0, "/workspace", false, false },
                { 0, "/workspace/deep/x", false, false },
                { 0, "/tmp/y", false, false },
                { 0, "/var/lib/z", false, false },
        };
        struct bench b;

        (void)state;
        setup(&b);
        b.request.sources = &folder;
        b.request.source_count = 1;
        b.request.mounts = within;
        b.request.mount_count = sizeof within / sizeof *within;
        must_build(&b);
        for (size_t i = 0; i < b.plan->step_count; i++)
                assert_int_equal(b.plan->steps[i].flags & STEP_SHARED, 0);
        b.facts.is_privileged = true;
        must_build(&b);
        assert_true(is_shared(&b, STEP_ROOT, ""));
        assert_true(is_shared(&b, STEP_BIND, "/usr"));
        assert_true(is_shared(&b, STEP_FILE, "/etc/passwd"));
        assert_true(is_shared(&b, STEP_DEVICE, "/dev/null"));
        assert_true(is_shared(&b, STEP_PRIVATE, "/tmp"));
        assert_true(is_shared(&b, STEP_DIR, "/workspace"));
        assert_true(is_shared(&b, STEP_DIR, "/var/lib/z"));
        assert_false(is_shared(&b, STEP_DIR, "/workspace/deep"));
        assert_false(is_shared(&b, STEP_DIR, "/tmp/y"));
        assert_false(is_shared(&b, STEP_BIND, "/workspace"));
        assert_false(is_shared(&b, STEP_PROC, "/proc"));
        assert_false(is_shared(&b, STEP_MQUEUE, PLAN_MQUEUE));
        assert_false(is_shared(&b, STEP_MASK, "/proc/keys"));
        assert_false(is_shared(&b, STEP_SCRATCH, ""));
        b.request.switched_off = SWITCH_SEAL;
        must_build(&b);
        assert_false(is_shared(&b, STEP_ROOT, ""));
        arena_fini(&b.arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(shared_steps_make_the_root_alone),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
