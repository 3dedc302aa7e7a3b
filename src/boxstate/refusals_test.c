/* boxstate/refusals_test.c - refusals are listed up to a bound, and every refusal is counted. */
#include "base/unit.h"
#include "boxstate/refusals.h"

#include <stdio.h>
#include <string.h>

enum { EACH = 4, HELD = 6 };

static struct refusals refusals;

static void
refuse(uint32_t exec, unsigned host, uint32_t count)
{
        struct wire_wall_denied d = { .reason = 1, .port = 443, .count = count };

        (void)snprintf(d.host, sizeof d.host, "h%u.test", host);
        refusals_add(&refusals, exec, &d);
}

static void
expect(uint32_t exec, size_t listed, uint64_t more, uint64_t all)
{
        const struct refused *of = refusals_find(&refusals, exec);

        assert_non_null(of);
        assert_int_equal(of->count, listed);
        assert_int_equal(of->more, more);
        assert_int_equal(refusals_count(of), all);
}

static void
the_first_are_listed_and_the_others_counted(void **state)
{
        (void)state;
        refusals_init(&refusals, EACH, HELD);
        assert_null(refusals_find(&refusals, 1));
        assert_int_equal(refusals_count(NULL), 0);
        for (unsigned turn = 0; turn < 3; turn++)
                for (unsigned host = 0; host < 100; host++)
                        refuse(1, host, 1);
        expect(1, EACH, 3 * (100 - EACH), 300);
        for (size_t i = 0; i < EACH; i++)
                assert_int_equal(refusals_find(&refusals, 1)->items[i].count, 3);
        assert_string_equal(refusals_find(&refusals, 1)->items[0].d.host, "h0.test");
        assert_int_equal(refusals.total, 300);
        refusals_miss(&refusals, 7);
        expect(0, 0, 7, 7);
        assert_int_equal(refusals.total, 307);
        refusals_fini(&refusals);
        assert_int_equal(refusals.held, 0);
}

/* Only the lists of ended execs are dropped, the oldest first. A running exec keeps its list. */
static void
lists_give_way_to_others(void **state)
{
        (void)state;
        refusals_init(&refusals, EACH, HELD);
        for (unsigned host = 0; host < 3; host++) {
                refuse(1, host, 1);
                refuse(2, host, 2);
        }
        refuse(3, 0, 1);
        expect(1, 3, 0, 3);
        expect(3, 0, 1, 1); /* both others run, so no list can be dropped */
        refusals_end(&refusals, 2);
        refuse(4, 0, 5);
        expect(2, 0, 6, 6);
        expect(1, 3, 0, 3);
        expect(4, 1, 0, 5);
        refuse(2, 0, 1); /* a late report for an exec whose list was dropped: counted only */
        expect(2, 0, 7, 7);
        refusals_forget(&refusals, 1);
        assert_null(refusals_find(&refusals, 1));
        assert_int_equal(refusals.held, 1);
        refusals_forget(&refusals, 99);
        assert_int_equal(refusals.total, 3 + 6 + 1 + 5 + 1);
        refusals_fini(&refusals);
}

static void
counts_stay_at_the_end(void **state)
{
        (void)state;
        refusals_init(&refusals, 1, HELD);
        refuse(1, 0, UINT32_MAX);
        refusals_find(&refusals, 1)->items[0].count = UINT64_MAX - 1;
        refuse(1, 0, 2);
        assert_true(refusals_find(&refusals, 1)->items[0].count == UINT64_MAX);
        refuse(1, 1, 3);
        assert_true(refusals_count(refusals_find(&refusals, 1)) == UINT64_MAX);
        assert_true(refusals_sum(UINT64_MAX, UINT64_MAX) == UINT64_MAX);
        refusals_fini(&refusals);
}

/* Reported by another process that counts: in any order, and never beyond the bounds. */
static void
what_is_reported_is_recorded(void **state)
{
        struct wire_wall_denied d = { .reason = 2, .host = "a.test" };

        (void)state;
        refusals_init(&refusals, EACH, HELD);
        refusals_set(&refusals, 1, 1, 0, 0, &d, 3);
        expect(1, 1, 0, 3);
        refusals_set(&refusals, 1, 1, 9, 0, &d, 5);
        expect(1, 1, 9, 14);
        refusals_set(&refusals, 1, 3, 9, 2, &d, 5); /* the entry before it is missing */
        expect(1, 1, 9, 14);
        for (uint32_t exec = 2; exec < 6; exec++)
                for (size_t i = 0; i < 2 * EACH; i++)
                        refusals_set(&refusals, exec, 2 * EACH, 0, i, &d, 1);
        assert_in_range(refusals.held, 1, HELD);
        refusals_set(&refusals, 1, 0, 14, 0, &d, 0);
        expect(1, 0, 14, 14);
        refusals_fini(&refusals);
        assert_int_equal(refusals.held, 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_first_are_listed_and_the_others_counted),
                cmocka_unit_test(lists_give_way_to_others),
                cmocka_unit_test(counts_stay_at_the_end),
                cmocka_unit_test(what_is_reported_is_recorded),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
