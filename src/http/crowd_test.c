/*
 * http/crowd_test.c - which member is closed for another one.
 */
#include "http/crowd.h"

#include "base/unit.h"

struct guest {
        struct crowd_member member;
        int is_gone;
};

static struct guest guests[CROWD_MAX + 1];

static void
let_go(struct crowd_member *m)
{
        ((struct guest *)(void *)m)->is_gone = 1;
        crowd_leave(m);
}

static int
come(struct crowd *c, size_t at, const char *owner, int is_busy)
{
        struct error e;

        guests[at].is_gone = 0;
        if (crowd_join(c, &guests[at].member, owner, let_go, &e) < 0)
                return (int)e.code;
        if (is_busy)
                crowd_busy(&guests[at].member);
        return 0;
}

static void
leave_all(struct crowd *c)
{
        for (size_t i = 0; i < sizeof guests / sizeof *guests; i++)
                crowd_leave(&guests[i].member);
        assert_int_equal(c->count, 0);
        assert_null(c->owners);
}

static void
an_owner_has_a_share(void **state)
{
        struct crowd c = { 0 };

        for (size_t i = 0; i < CROWD_OWNER_MAX; i++)
                assert_int_equal(come(&c, i, "a", 1), 0);
        assert_int_equal(come(&c, CROWD_OWNER_MAX, "a", 1), ERROR_QUOTA_EXCEEDED);
        assert_int_equal(come(&c, CROWD_OWNER_MAX, "b", 1), 0);
        crowd_wait(&guests[7].member);
        crowd_wait(&guests[5].member);
        assert_int_equal(come(&c, CROWD_OWNER_MAX + 1, "a", 1), 0);
        /* the owner's own member that waits longest */
        assert_true(guests[7].is_gone && !guests[5].is_gone);
        leave_all(&c);
}

static void
members_without_an_owner_give_way(void **state)
{
        struct crowd c = { 0 };

        for (size_t i = 0; i < CROWD_NOBODY_MAX; i++)
                assert_int_equal(come(&c, i, NULL, 1), 0);
        crowd_wait(&guests[9].member);
        assert_int_equal(come(&c, CROWD_NOBODY_MAX, NULL, 0), 0);
        assert_true(guests[9].is_gone && !guests[0].is_gone);
        crowd_busy(&guests[CROWD_NOBODY_MAX].member);
        assert_int_equal(come(&c, CROWD_NOBODY_MAX + 1, NULL, 0), 0);
        assert_true(guests[0].is_gone && !guests[1].is_gone);
        leave_all(&c);
}

static void
the_greediest_gives_way(void **state)
{
        static const char *const names[] = { "a", "b", "c", "d" };
        struct crowd c = { 0 };
        size_t at = 0;

        for (size_t n = 0; n < 4; n++)
                for (size_t i = 0; i < CROWD_OWNER_MAX - (n != 2); i++, at++)
                        assert_int_equal(come(&c, at, names[n], n != 1 && n != 2), 0);
        for (; at < CROWD_MAX; at++)
                assert_int_equal(come(&c, at, "e", 0), 0);
        assert_int_equal(come(&c, CROWD_MAX, "f", 1), 0);
        /* the first of c, which has one more than b */
        assert_true(guests[2 * CROWD_OWNER_MAX - 2].is_gone);
        leave_all(&c);
        for (at = 0; at < CROWD_MAX; at++)
                assert_int_equal(come(&c, at, names[at % 4], 1), 0);
        assert_int_equal(come(&c, CROWD_MAX, "f", 1), ERROR_UNAVAILABLE);
        leave_all(&c);
}

static void
a_name_moves_a_member(void **state)
{
        struct crowd c = { 0 };
        struct error e;

        assert_int_equal(come(&c, CROWD_MAX, NULL, 1), 0);
        for (size_t i = 0; i < CROWD_OWNER_MAX; i++)
                assert_int_equal(come(&c, i, "a", 1), 0);
        assert_int_equal(crowd_name(&guests[CROWD_MAX].member, "a", &e), -1);
        assert_int_equal(e.code, ERROR_QUOTA_EXCEEDED);
        assert_int_equal(crowd_name(&guests[0].member, "a", &e), 0);
        crowd_wait(&guests[3].member);
        assert_int_equal(crowd_name(&guests[CROWD_MAX].member, "a", &e), 0);
        assert_true(guests[3].is_gone);
        leave_all(&c);
}

static void
an_owner_holds_so_much(void **state)
{
        static const size_t most[CROWD_USES] = { CROWD_BYTES_MAX, CROWD_ANSWERS_MAX };
        struct crowd c = { 0 };

        for (enum crowd_use use = 0; use < CROWD_USES; use++) {
                for (size_t i = 0; i < 3; i++)
                        assert_int_equal(come(&c, i, i < 2 ? "a" : "b", 1), 0);
                assert_int_equal(crowd_hold(&guests[0].member, use, most[use] - 1), 0);
                assert_int_equal(crowd_hold(&guests[1].member, use, 2), -1);
                assert_int_equal(crowd_hold(&guests[2].member, use, 2), 0);
                crowd_hold_nothing(&guests[0].member, use);
                assert_int_equal(crowd_hold(&guests[1].member, use, most[use]), 0);
                crowd_leave(&guests[1].member);
                assert_int_equal(crowd_hold(&guests[0].member, use, most[use]), 0);
                crowd_release(&guests[0].member, use, 10);
                assert_int_equal(crowd_hold(&guests[0].member, use, 11), -1);
                assert_int_equal(crowd_hold(&guests[0].member, use, 10), 0);
                leave_all(&c);
        }
}

/*
 * An owner's answers are not refused because of other owners' bytes, until the limit for all owners
 * is reached.
 */
static void
all_hold_so_much(void **state)
{
        static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };
        struct crowd c = { 0 };

        for (size_t i = 0; i < 9; i++)
                assert_int_equal(come(&c, i, names[i], 1), 0);
        for (size_t i = 0; i < 8; i++) {
                assert_int_equal(crowd_hold(&guests[i].member, CROWD_ANSWERS, CROWD_ANSWERS_MAX),
                                 0);
                assert_true(crowd_is_over(&guests[i].member));
        }
        assert_int_equal(crowd_hold(&guests[8].member, CROWD_ANSWERS, 1), -1);
        assert_int_equal(crowd_hold(&guests[8].member, CROWD_BODIES, CROWD_BYTES_MAX), 0);
        crowd_owe(&guests[8].member, 7); /* these bytes already exist */
        assert_int_equal(c.answers, (size_t)CROWD_ANSWERS_ALL_MAX + 7);
        crowd_leave(&guests[0].member);
        assert_false(crowd_is_over(&guests[8].member));
        leave_all(&c);
        assert_int_equal(c.answers, 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_owner_has_a_share),
                cmocka_unit_test(members_without_an_owner_give_way),
                cmocka_unit_test(the_greediest_gives_way),
                cmocka_unit_test(a_name_moves_a_member),
                cmocka_unit_test(an_owner_holds_so_much),
                cmocka_unit_test(all_hold_so_much),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
