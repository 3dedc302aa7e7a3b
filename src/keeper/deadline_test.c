/* keeper/deadline_test.c - adding time never gives a moment in the past, and never overflows. */
#include "keeper/sandbox.h"

#include "base/unit.h"

static void
time_is_added_to_what_is_left(void **state)
{
        static const struct {
                uint64_t deadline, now, span, want;
        } cases[] = {
                { 1000, 500, 100, 1100 },
                { 1000, 1000, 100, 1100 },
                { 400, 1000, 100, 1100 }, /* an expired deadline is extended from now */
                { STORE_NEVER, 1000, 100, STORE_NEVER },
                { 1000, 0, STORE_NEVER, STORE_NEVER },
                { STORE_NEVER - 10, 0, 9, STORE_NEVER - 1 },
                { STORE_NEVER - 10, 0, 10, STORE_NEVER },
                { STORE_NEVER - 10, 0, 11, STORE_NEVER },
                { 0, 0, 0, 0 },
                { 0, 5, STORE_NEVER - 5, STORE_NEVER },
                { 0, 5, STORE_NEVER - 6, STORE_NEVER - 1 },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                if (deadline_add(cases[i].deadline, cases[i].now, cases[i].span) != cases[i].want)
                        fail_msg("case %zu", i);
}

static void
what_is_left_ends_at_nothing(void **state)
{
        static const struct {
                uint64_t deadline, now, want;
        } cases[] = {
                { 1000, 400, 600 },
                { 1000, 1000, 0 },
                { 1000, 2000, 0 },
                { STORE_NEVER, 2000, STORE_NEVER },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct sandbox s = { .row.deadline_ms = cases[i].deadline };

                if (deadline_remaining(&s, cases[i].now) != cases[i].want)
                        fail_msg("case %zu", i);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(time_is_added_to_what_is_left),
                                            cmocka_unit_test(what_is_left_ends_at_nothing) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
