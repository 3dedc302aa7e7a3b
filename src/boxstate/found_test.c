/* boxstate/found_test.c - what boxstate/found.h promises. */
#include "boxstate/found.h"

#include <string.h>

#include "base/unit.h"

static void
put(struct found *f, uint64_t number)
{
        struct wire_box_found one = { .number = number, .kept = { .what = KEPT_MADE } };

        assert_true(found_put(f, &one));
}

static void
the_first_and_the_last_are_kept_and_all_are_counted(void **state)
{
        struct found f = { .count = 0 };

        (void)state;
        for (uint64_t i = 1; i <= FOUND_MAX + 5; i++)
                put(&f, i);
        assert_int_equal(f.count, FOUND_MAX);
        assert_int_equal(f.total, FOUND_MAX + 5);
        for (size_t i = 0; i < FOUND_MAX; i++)
                assert_int_equal(f.items[i]->number, i < NUMBER_FOUND_FIRST ? i + 1 : i + 6);
        found_fini(&f);
        assert_int_equal(f.count, 0);
}

static void
a_repetition_changes_nothing(void **state)
{
        struct found f = { .count = 0 };
        struct wire_box_found one = { .number = 2, .kept = { .what = KEPT_MADE } };

        (void)state;
        put(&f, 1);
        put(&f, 2);
        assert_false(found_put(&f, &one));
        one.number = 0;
        assert_false(found_put(&f, &one));
        assert_int_equal(f.count, 2);
        found_fini(&f);
}

static void
what_was_shown_stays_shown(void **state)
{
        struct found f = { .count = 0 };
        struct wire_box_found one = { .number = 3, .shown = 2, .kept = { .what = KEPT_MADE } };

        (void)state;
        put(&f, 1);
        put(&f, 2);
        assert_int_equal(found_unshown(&f), 2);
        assert_true(found_put(&f, &one));
        assert_int_equal(found_unshown(&f), 1);
        found_show(&f, 1);
        assert_int_equal(found_unshown(&f), 1);
        found_show(&f, UINT64_MAX);
        assert_int_equal(found_unshown(&f), 0);
        found_fini(&f);
}

/* A box is a process of the same user: a broken one may send anything. */
static void
texts_are_terminated(void **state)
{
        struct found f = { .count = 0 };
        struct wire_box_found one = { .number = 1 };

        (void)state;
        memset(&one.kept, 'x', sizeof one.kept);
        assert_true(found_put(&f, &one));
        assert_int_equal(strlen(f.items[0]->kept.name), sizeof one.kept.name - 1);
        assert_int_equal(strlen(f.items[0]->kept.kept), sizeof one.kept.kept - 1);
        assert_int_equal(strlen(f.items[0]->kept.key), sizeof one.kept.key - 1);
        found_fini(&f);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_first_and_the_last_are_kept_and_all_are_counted),
                cmocka_unit_test(a_repetition_changes_nothing),
                cmocka_unit_test(what_was_shown_stays_shown),
                cmocka_unit_test(texts_are_terminated),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
