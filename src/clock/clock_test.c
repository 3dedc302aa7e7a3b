/*
 * clock/clock_test.c - what the clock promises: it counts on, and a wait ends at its moment or when
 * something is ready.
 */
#include "clock/clock.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/unit.h"

static uint64_t
kernel_ms(clockid_t clock)
{
        struct timespec t;

        assert_int_equal(clock_gettime(clock, &t), 0);
        return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void
the_clocks_are_the_kernels(void **state)
{
        uint64_t boot = kernel_ms(CLOCK_BOOTTIME), wall = kernel_ms(CLOCK_REALTIME);

        (void)state;
        assert_true(clock_boot_ms() >= boot && clock_boot_ms() <= kernel_ms(CLOCK_BOOTTIME));
        assert_true(clock_wall_ms() >= wall && clock_wall_ms() <= kernel_ms(CLOCK_REALTIME));
}

static void
a_wait_ends_at_its_moment_and_not_before(void **state)
{
        int ends[2];
        uint64_t until = clock_boot_ms() + 30;

        (void)state;
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(clock_poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, until), 0);
        assert_true(clock_boot_ms() >= until);
        assert_int_equal(clock_poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, until), 0);
        assert_int_equal(clock_poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, 0), 0);
        (void)close(ends[0]);
        (void)close(ends[1]);
}

static void
what_is_ready_ends_every_wait(void **state)
{
        static const uint64_t moments[] = { 0, UINT64_MAX - 1, CLOCK_NEVER };
        int ends[2];

        (void)state;
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], "x", 1), 1);
        for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
                struct pollfd p = { ends[0], POLLIN, 0 };

                assert_int_equal(clock_poll(&p, 1, moments[i]), 1);
                assert_int_equal(p.revents, POLLIN);
        }
        (void)close(ends[0]);
        (void)close(ends[1]);
}

static void
without_a_test_nothing_is_cut_or_handed_on(void **state)
{
        (void)state;
        assert_int_equal(clock_slice_ms(-1), -1);
        assert_int_equal(clock_slice_ms(0), 0);
        assert_int_equal(clock_slice_ms(60000), 60000);
        assert_null(clock_environment()[0]);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_clocks_are_the_kernels),
                cmocka_unit_test(a_wait_ends_at_its_moment_and_not_before),
                cmocka_unit_test(what_is_ready_ends_every_wait),
                cmocka_unit_test(without_a_test_nothing_is_cut_or_handed_on),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
