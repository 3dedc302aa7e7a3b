/*
 * gate/fair_share_test.c - a wall that takes all it can leaves the others their part.
 */
#include "gate/fair_share.h"

#include "base/unit.h"

enum { WALLS = 100, MAX = 4096 };

static size_t
take_all(struct fair_share_pool *p, struct fair_share *s, size_t each)
{
        size_t count = 0;

        while (fair_share_take(p, s, each))
                count++;
        return count;
}

static void
alone(void **state)
{
        struct fair_share_pool p = { .max = 1000, .common_percent = 75 };
        struct fair_share s = { 0 };

        (void)state;
        fair_share_join(&p, &s);
        assert_int_equal(take_all(&p, &s, 1), 750 + 250 / 8);
        fair_share_give(&p, &s, 200);
        assert_int_equal(take_all(&p, &s, 1), 200);
        fair_share_leave(&p, &s);
        assert_int_equal(p.taken + p.common + p.walls, 0);
        fair_share_leave(&p, &s);
        assert_int_equal(p.walls, 0);
}

static void
many(void **state)
{
        static struct fair_share s[WALLS];
        struct fair_share_pool p = { .max = MAX, .common_percent = 50 };

        (void)state;
        for (size_t i = 0; i < WALLS; i++)
                fair_share_join(&p, &s[i]);
        for (size_t i = 0; i + 1 < WALLS; i++)
                assert_true(take_all(&p, &s[i], 1) >= 20);
        assert_int_equal(take_all(&p, &s[WALLS - 1], 1), MAX / 2 / WALLS);
        assert_true(p.taken <= p.max);
        for (size_t i = 0; i < WALLS; i++)
                fair_share_leave(&p, &s[i]);
        assert_int_equal(p.taken + p.common + p.walls, 0);
}

/* Each new wall makes the parts smaller; no wall takes more than there is. */
static void
one_by_one(void **state)
{
        static struct fair_share s[WALLS];
        struct fair_share_pool p = { .max = MAX, .common_percent = 50 };
        size_t taken = 0;

        (void)state;
        for (size_t i = 0; i < WALLS; i++) {
                fair_share_join(&p, &s[i]);
                taken += take_all(&p, &s[i], 1);
        }
        assert_true(taken <= MAX && taken == p.taken);
        p.max = taken / 2; /* for example, for descriptors of new listeners */
        assert_false(fair_share_take(&p, &s[0], 1));
        for (size_t i = 0; i < WALLS; i++)
                fair_share_leave(&p, &s[i]);
        assert_true(fair_share_take(&p, &s[0], 1));
}

static void
large_pieces(void **state)
{
        struct fair_share_pool p = { .max = 128 << 20, .common_percent = 50 };
        struct fair_share a = { 0 }, b = { 0 };

        (void)state;
        fair_share_join(&p, &a);
        fair_share_join(&p, &b);
        assert_int_equal(take_all(&p, &a, 32768), (64 + 8) << 5);
        assert_int_equal(take_all(&p, &b, 32768), 8 << 5);
        assert_false(fair_share_take(&p, &a, (size_t)-1));
        fair_share_give(&p, &a, 40 << 20);
        assert_int_equal(take_all(&p, &b, 32768), 40 << 5);
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(alone),
                cmocka_unit_test(many),
                cmocka_unit_test(one_by_one),
                cmocka_unit_test(large_pieces),
        };

        return cmocka_run_group_tests_name("gate/share", tests, NULL, NULL);
}
