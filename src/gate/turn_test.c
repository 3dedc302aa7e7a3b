/*
 * gate/turn_test.c - a busy wall delays others for no longer than its part.
 */
#include "gate/turn.h"

#include "base/unit.h"

enum { BUSY = 4, JOBS = 64, ROUNDS = 1000 };

struct work {
        struct job job;
        struct turn *turn;
        size_t cost, done;
        bool goes_on;
};

static struct turns turns;
static size_t used; /* since the last check */

static void
run(struct job *j)
{
        struct work *w = (struct work *)j;

        w->done++;
        used += w->cost + TURN_JOB;
        turn_use(w->turn, w->cost);
        if (w->goes_on)
                turn_want(w->turn, j, run);
}

/* No job of a paused wall runs; others continue, and a pause does not make a wall fresh. */
static void
a_pause_is_kept(void **state)
{
        static struct turn paused, other;
        static struct work first = { .turn = &paused, .cost = 1 },
                           second = { .turn = &paused, .cost = 1 },
                           theirs = { .turn = &other, .cost = 1 };

        (void)state;
        turns_init(&turns, NULL);
        turn_begin(&turns, &paused);
        turn_begin(&turns, &other);
        turn_want(&paused, &first.job, run);
        turn_pause(&paused);
        turn_want(&paused, &second.job, run);
        turn_want(&other, &theirs.job, run);
        assert_true(turn_is_used(&paused));
        while (!turns_are_over(&turns))
                turns_take(&turns);
        assert_int_equal(first.done + second.done, 0);
        assert_int_equal(theirs.done, 1);
        turn_resume(&paused);
        turn_want(&other, &theirs.job, run);
        turns_take(&turns);
        assert_int_equal(first.done + second.done, 0);
        assert_int_equal(theirs.done, 2);
        turns_take(&turns);
        assert_int_equal(first.done + second.done, 2);
        turn_pause(&paused);
        turn_want(&paused, &first.job, run);
        turn_close(&paused, &second.job, run); /* its end does not wait */
        turns_take(&turns);
        assert_int_equal(first.done, 1);
        assert_int_equal(second.done, 2);
        turn_end(&paused);
        turn_resume(&paused);
        while (!turns_are_over(&turns))
                turns_take(&turns);
        assert_int_equal(first.done + second.done, 3);
        turn_end(&other);
}

static void
one_after_the_other(void **state)
{
        static struct turn busy[BUSY], quiet;
        static struct work work[BUSY][JOBS], little = { .turn = &quiet, .cost = 5 };
        size_t most = 0;

        (void)state;
        turns_init(&turns, NULL);
        turn_begin(&turns, &quiet);
        for (size_t i = 0; i < BUSY; i++) {
                turn_begin(&turns, &busy[i]);
                for (size_t k = 0; k < JOBS; k++) {
                        work[i][k] = (struct work){ .turn = &busy[i], .cost = 10, .goes_on = true };
                        turn_want(&busy[i], &work[i][k].job, run);
                }
        }
        for (size_t i = 0; i < ROUNDS; i++)
                turns_take(&turns);
        for (size_t i = 0; i < ROUNDS; i++) {
                size_t before = little.done;

                used = 0;
                turn_want(&quiet, &little.job, run);
                for (size_t n = 0; n < BUSY + 2 && little.done == before; n++)
                        turns_take(&turns);
                assert_int_equal(little.done, before + 1);
                most = used > most ? used : most;
                for (size_t n = 0; n < 2 * BUSY; n++) /* it rests */
                        turns_take(&turns);
        }
        assert_true(most <= 16); /* it was fresh, so it ran before all that wait */
        for (size_t i = 1; i < BUSY; i++)
                assert_in_range(work[i][JOBS - 1].done + 2, work[0][JOBS - 1].done,
                                work[0][JOBS - 1].done + 4);
        for (size_t k = 1; k < JOBS; k++)
                assert_in_range(work[0][k].done + 1, work[0][0].done, work[0][0].done + 2);
}

/* A wall that is always busy runs once a round, after a part of each of the others. */
static void
a_wall_that_is_always_busy(void **state)
{
        static struct turn busy[BUSY], sly;
        static struct work work[BUSY], more = { .turn = &sly, .cost = 1 };
        size_t count = 0;

        (void)state;
        turns_init(&turns, NULL);
        turn_begin(&turns, &sly);
        for (size_t i = 0; i < BUSY; i++) {
                turn_begin(&turns, &busy[i]);
                work[i] = (struct work){ .turn = &busy[i], .cost = 10, .goes_on = true };
                turn_want(&busy[i], &work[i].job, run);
        }
        for (size_t i = 0; i < ROUNDS; i++) {
                turn_want(&sly, &more.job, run);
                turns_take(&turns);
        }
        for (size_t i = 0; i < BUSY; i++)
                count += work[i].done;
        assert_true(count >= (size_t)ROUNDS * BUSY / (BUSY + 2) * (TURN_PART / 11));
        assert_true(more.done >= ROUNDS / (BUSY + 2));
}

static void
what_is_beyond_a_part_is_paid(void **state)
{
        struct turn one, other;
        struct work large = { .turn = &one, .cost = (size_t)TURN_PART * 10, .goes_on = true },
                    small = { .turn = &other, .cost = TURN_PART, .goes_on = true };

        (void)state;
        turns_init(&turns, NULL);
        turn_begin(&turns, &one);
        turn_begin(&turns, &other);
        turn_want(&one, &large.job, run);
        turn_want(&other, &small.job, run);
        for (size_t i = 0; i < ROUNDS; i++)
                turns_take(&turns);
        assert_in_range(small.done, large.done * 9, large.done * 12);
}

static uint64_t now, each;

static uint64_t
now_us(void)
{
        return now;
}

static void
slow(struct job *j)
{
        now += each;
        run(j);
}

/* A job that declares a low cost and takes long costs much; at most one part is counted at once. */
static void
time_counts_too(void **state)
{
        struct turn one, other;
        struct work hides = { .turn = &one, .cost = 1 },
                    small = { .turn = &other, .cost = TURN_PART - TURN_JOB, .goes_on = true };

        (void)state;
        for (each = TURN_PART; each <= (uint64_t)TURN_PART * 1000; each *= 1000) {
                turns_init(&turns, now_us);
                turn_begin(&turns, &one);
                turn_begin(&turns, &other);
                hides.done = small.done = 0;
                for (size_t i = 0; i < ROUNDS; i++) {
                        turn_want(&one, &hides.job, slow);
                        turn_want(&other, &small.job, run);
                        turns_take(&turns);
                }
                assert_in_range(hides.done, small.done / 2, small.done + 2);
                turn_end(&one);
                turn_end(&other);
        }
}

static size_t reads;

static uint64_t
count_reads(void)
{
        reads++;
        return 0;
}

/*
 * At the beginning of a turn and after each job. The result: whether its part is used up or no job
 * is left.
 */
static void
the_clock_is_read_once_a_job(void **state)
{
        struct turn turn;
        struct work some[BUSY], large = { .turn = &turn, .cost = TURN_PART };

        (void)state;
        turns_init(&turns, count_reads);
        turn_begin(&turns, &turn);
        for (size_t i = 0; i < BUSY; i++) {
                some[i] = (struct work){ .turn = &turn };
                turn_want(&turn, &some[i].job, run);
        }
        reads = 0;
        turns_take(&turns);
        assert_true(turns_are_over(&turns));
        assert_int_equal(reads, 1 + BUSY);
        turn_want(&turn, &large.job, run);
        turn_want(&turn, &some[0].job, run);
        reads = 0;
        turns_take(&turns);
        assert_int_equal(large.done, 1);
        assert_int_equal(some[0].done, 1); /* in the first turn alone */
        assert_int_equal(reads, 2);
        turn_end(&turn);
}

static void
ends(void **state)
{
        struct turn turn = { .turns = NULL };
        struct work a = { .turn = &turn }, b = { .turn = &turn }, last = { .turn = &turn };

        (void)state;
        turn_end(&turn);
        turns_init(&turns, NULL);
        turns_take(&turns);
        turn_begin(&turns, &turn);
        turn_want(&turn, &a.job, run);
        turn_want(&turn, &b.job, run);
        turn_want(&turn, &a.job, run);
        job_end(&a.job);
        job_end(&a.job);
        turns_take(&turns);
        assert_int_equal(a.done, 0);
        assert_int_equal(b.done, 1);
        assert_true(turns_are_over(&turns));
        turn_want(&turn, &a.job, run);
        turn_want(&turn, &b.job, run);
        job_end(&b.job);
        turn_close(&turn, &last.job, run);
        turn_want(&turn, &b.job, run);
        turns_take(&turns);
        assert_int_equal(a.done + b.done, 1);
        assert_int_equal(last.done, 1);
        turn_want(&turn, &last.job, run);
        turn_end(&turn);
        assert_true(turns_are_over(&turns));
        turn_want(&turn, &a.job, run);
        turns_take(&turns);
        assert_int_equal(a.done + last.done, 1);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_pause_is_kept),
                cmocka_unit_test(one_after_the_other),
                cmocka_unit_test(a_wall_that_is_always_busy),
                cmocka_unit_test(what_is_beyond_a_part_is_paid),
                cmocka_unit_test(time_counts_too),
                cmocka_unit_test(the_clock_is_read_once_a_job),
                cmocka_unit_test(ends),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
