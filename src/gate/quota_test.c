/* gate/quota_test.c - a wall sends what the keeper permits of a day, and gives back the rest. */
#include "gate/quota.h"

#include <string.h>

#include "base/unit.h"

static struct loop *loop;
static struct quota quota;
static struct wire_gate_quota_ask said; /* the last */
static int count;

static void
hear(struct quota *q, const struct wire_gate_quota_ask *ask)
{
        assert_ptr_equal(q, &quota);
        said = *ask;
        count++;
}

static int
begin(void **state)
{
        (void)state;
        count = 0;
        assert_int_equal(loop_new(&loop), 0);
        quota_begin(&quota, loop, hear);
        quota_need(&quota, true);
        return 0;
}

static int
finish(void **state)
{
        (void)state;
        quota_end(&quota);
        loop_free(loop);
        return 0;
}

static void
answer(uint32_t number, uint64_t bytes, uint64_t until_ms)
{
        const struct wire_gate_quota m = { .number = number, .bytes = bytes, .until_ms = until_ms };

        assert_int_equal(quota_hear(&quota, &m), 0);
}

static void
nothing_is_sent_before_the_answer_and_no_more_than_it(void **state)
{
        (void)state;
        assert_int_equal(quota_room(&quota, 100), 0);
        assert_int_equal(quota_room(&quota, 100), 0);
        assert_true(count == 1 && said.wants == 1 && said.number == 0 && said.left == 0);
        answer(1, 70, LOOP_NEVER);
        assert_int_equal(quota_room(&quota, 100), 70);
        assert_int_equal(quota_room(&quota, 7), 7);
        quota_take(&quota, 60);
        assert_int_equal(quota_room(&quota, 100), 10);
        quota_take(&quota, 10);
        assert_int_equal(count, 1);
        assert_int_equal(quota_room(&quota, 100), 0);
        assert_true(count == 2 && said.wants == 1 && said.number == 1 && said.left == 0);
}

static void
a_wall_without_a_limit_asks_nothing(void **state)
{
        (void)state;
        quota_need(&quota, false);
        assert_int_equal(quota_room(&quota, 100), 100);
        quota_take(&quota, 100);
        assert_false(quota_is_closed(&quota));
        assert_int_equal(count, 0);
}

static void
it_is_closed_until_its_time_or_another_policy(void **state)
{
        uint64_t now = loop_now_ms();

        (void)state;
        assert_int_equal(quota_room(&quota, 1), 0);
        answer(0, 0, now + 3600000);
        assert_true(quota_is_closed(&quota) && quota.reason == DENIAL_DAY_BYTES);
        assert_int_equal(quota_room(&quota, 1), 0);
        assert_int_equal(count, 1);
        quota_need(&quota, true);
        assert_false(quota_is_closed(&quota));
        assert_int_equal(quota_room(&quota, 1), 0);
        assert_int_equal(count, 2);
        answer(0, 0, now); /* over already */
        assert_false(quota_is_closed(&quota));
        assert_int_equal(quota_room(&quota, 1), 0);
        assert_int_equal(count, 3);
}

static void
the_part_of_a_day_that_is_over_is_not_used(void **state)
{
        (void)state;
        assert_int_equal(quota_room(&quota, 1), 0);
        answer(3, 50, loop_now_ms());
        assert_int_equal(quota_room(&quota, 1), 0);
        assert_true(count == 3 && said.wants == 1 && said.number == 0 && quota.is_asked);
}

/* Also one that comes when it is of no use any more. */
static void
the_rest_is_given_back(void **state)
{
        (void)state;
        assert_int_equal(quota_room(&quota, 1), 0);
        answer(4, 50, LOOP_NEVER);
        quota_take(&quota, 20);
        quota_need(&quota, false);
        assert_true(count == 2 && said.wants == 0 && said.number == 4 && said.left == 30);
        quota_need(&quota, true);
        assert_int_equal(quota_room(&quota, 1), 0);
        quota_need(&quota, false);
        answer(5, 50, LOOP_NEVER);
        assert_true(count == 4 && said.wants == 0 && said.number == 5 && said.left == 50);
        quota_need(&quota, true);
        assert_int_equal(quota_room(&quota, 1), 0);
        answer(6, 50, LOOP_NEVER);
        quota_end(&quota);
        assert_int_equal(quota_room(&quota, 1), 0);
        assert_true(quota_is_closed(&quota));
        assert_true(count == 6 && said.wants == 0 && said.number == 6 && said.left == 50);
}

static void
an_idle_wall_gives_back_its_rest(void **state)
{
        (void)state;
        assert_int_equal(quota_room(&quota, 1), 0);
        answer(7, 50, LOOP_NEVER);
        while (count < 2) /* its timer is the only one */
                loop_turn(loop);
        assert_true(said.wants == 0 && said.number == 7 && said.left == 50);
        assert_int_equal(quota.idle.due_ms, LOOP_NEVER);
}

static void
an_answer_without_a_question_is_malformed(void **state)
{
        const struct wire_gate_quota m = { .number = 1, .bytes = 9 };

        (void)state;
        assert_true(quota_hear(&quota, &m) < 0);
        assert_int_equal(quota.left, 0);
}

#define HELD(f) cmocka_unit_test_setup_teardown(f, begin, finish)

int
main(void)
{
        const struct CMUnitTest tests[] = {
                HELD(nothing_is_sent_before_the_answer_and_no_more_than_it),
                HELD(a_wall_without_a_limit_asks_nothing),
                HELD(it_is_closed_until_its_time_or_another_policy),
                HELD(the_part_of_a_day_that_is_over_is_not_used),
                HELD(the_rest_is_given_back),
                HELD(an_idle_wall_gives_back_its_rest),
                HELD(an_answer_without_a_question_is_malformed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
