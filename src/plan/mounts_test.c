/* plan/mounts_test.c - where mounts are, what is held in them, and what may be written. */
#include "plan/bench_test.h"

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

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(mounts_are_where_they_should_be),
                cmocka_unit_test(a_hidden_directory_is_covered),
                cmocka_unit_test(protected_names_are_held),
                cmocka_unit_test(landlock_allows_exactly_what_may_be_written),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
