/* prepare/time_allowed_test.c - what prepare/time_allowed.h promises. */
#include "prepare/time_allowed.h"

#include <string.h>

#include "base/unit.h"

enum { RUN = TIME_ALLOWED_RUN_MS };
#define NO SPEC_UNSET

static void
what_was_written_holds_and_a_call_may_ask_for_less(void **state)
{
        static const struct {
                uint64_t written, host, asked, otherwise, ms;
                enum time_limit_by by;
        } cases[] = {
                /* no limit is written */
                { NO, NO, NO, NO, NO, TIME_LIMIT_NONE },
                { NO, NO, NO, RUN, RUN, TIME_LIMIT_DEFAULT },
                { NO, NO, 500, RUN, 500, TIME_LIMIT_CALL },
                { NO, NO, 2 * RUN, RUN, 2 * RUN,
                  TIME_LIMIT_CALL }, /* --timeout wins over a manifest without a limit */
                { NO, NO, 1000, NO, 1000, TIME_LIMIT_CALL },
                /* the manifest has one */
                { 1000, NO, NO, RUN, 1000, TIME_LIMIT_MANIFEST },
                { 1000, NO, NO, NO, 1000, TIME_LIMIT_MANIFEST },
                { 2 * RUN, NO, NO, RUN, 2 * RUN, TIME_LIMIT_MANIFEST },
                { 1000, NO, 999, RUN, 999, TIME_LIMIT_CALL },
                { 1000, NO, 1000, RUN, 1000, TIME_LIMIT_CALL },
                { 1000, 5000, NO, RUN, 1000, TIME_LIMIT_MANIFEST },
                /* the operator has one */
                { NO, 5000, NO, NO, 5000, TIME_LIMIT_HOST },
                { NO, 5000, NO, RUN, 5000, TIME_LIMIT_HOST },
                { NO, 2 * RUN, NO, RUN, RUN, TIME_LIMIT_DEFAULT },
                { NO, 5000, 4000, NO, 4000, TIME_LIMIT_CALL },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const struct spec_limits limits = { .timeout_ms = cases[i].written == NO
                                                                          ? 30000
                                                                          : cases[i].written,
                                                    .is_timeout_given = cases[i].written != NO,
                                                    .timeout_max_ms = cases[i].host };
                struct time_limit got;
                struct error e;

                assert_int_equal(
                        time_allowed_choose(&limits, cases[i].asked, cases[i].otherwise, &got, &e),
                        0);
                if (got.ms != cases[i].ms || got.by != cases[i].by)
                        fail_msg("case %zu: %llu by %d", i, (unsigned long long)got.ms,
                                 (int)got.by);
        }
}

static void
more_than_was_written_is_refused_with_both_numbers(void **state)
{
        static const struct {
                uint64_t written, host;
                const char *numbers, *place;
        } cases[] = {
                { 60000, NO,
                  "10 min is above the 1 min that SANDBOX.md permits (limits.timeout_ms: 60000)",
                  "raise limits.timeout_ms in SANDBOX.md" },
                { NO, 90000,
                  "10 min is above the 90 s that this host permits (limits_max.timeout_ms: 90000)",
                  "raise limits_max.timeout_ms in the host file" },
                { 60000, 90000, "1 min that SANDBOX.md", "SANDBOX.md" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const struct spec_limits limits = { .timeout_ms = cases[i].written == NO
                                                                          ? 30000
                                                                          : cases[i].written,
                                                    .is_timeout_given = cases[i].written != NO,
                                                    .timeout_max_ms = cases[i].host };
                struct time_limit got;
                struct error e;

                assert_int_equal(time_allowed_choose(&limits, 600000, NO, &got, &e), -1);
                assert_int_equal(e.code, ERROR_POLICY_DENIED);
                assert_non_null(strstr(e.message, cases[i].numbers));
                assert_non_null(strstr(e.hint, cases[i].place));
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_was_written_holds_and_a_call_may_ask_for_less),
                cmocka_unit_test(more_than_was_written_is_refused_with_both_numbers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
