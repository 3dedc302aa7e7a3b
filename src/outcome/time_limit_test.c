/* outcome/time_limit_test.c - what outcome/time_limit.h promises. */
#include "outcome/time_limit.h"

#include <string.h>

#include "base/unit.h"

static void
a_span_is_written_in_its_greatest_whole_unit(void **state)
{
        static const struct {
                uint64_t ms;
                const char *text;
        } cases[] = {
                { 0, "0 ms" },        { 1, "1 ms" },         { 999, "999 ms" }, { 1000, "1 s" },
                { 1500, "1500 ms" },  { 60000, "1 min" },    { 90000, "90 s" }, { 3600000, "1 h" },
                { 86400000, "24 h" }, { 3660000, "61 min" },
        };
        char text[TIME_LIMIT_TEXT];

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                assert_string_equal(time_limit_text(cases[i].ms, text), cases[i].text);
        assert_true(strlen(time_limit_text(TIME_LIMIT_NEVER, text)) < TIME_LIMIT_TEXT);
}

static void
the_end_names_the_limit_its_value_and_where_it_is_raised(void **state)
{
        static const struct {
                enum time_limit_by by;
                const char *name, *field, *place;
        } cases[] = {
                { TIME_LIMIT_DEFAULT, "default", "after 90 s (the default of `carrel run`)",
                  "--timeout" },
                { TIME_LIMIT_MANIFEST, "manifest", "after 90 s (limits.timeout_ms)", "SANDBOX.md" },
                { TIME_LIMIT_HOST, "host", "after 90 s (limits_max.timeout_ms of the host file)",
                  "operator" },
                { TIME_LIMIT_CALL, "call", "after 90 s (--timeout", "--timeout" },
        };
        const struct time_limit unknown = { .ms = 0 };
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const struct time_limit l = { 90000, cases[i].by };

                time_limit_passed(&l, &e);
                assert_int_equal(e.code, ERROR_TIMEOUT);
                assert_non_null(strstr(e.message, cases[i].field));
                assert_non_null(strstr(e.hint, cases[i].place));
                assert_string_equal(time_limit_name(cases[i].by), cases[i].name);
                assert_int_equal(time_limit_find(cases[i].name), cases[i].by);
        }
        time_limit_passed(&unknown, &e);
        assert_null(strstr(e.message, "after"));
        assert_int_equal(time_limit_find("x"), TIME_LIMIT_NONE);
        assert_int_equal(time_limit_find(NULL), TIME_LIMIT_NONE);
        assert_null(time_limit_name(TIME_LIMIT_NONE));
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_span_is_written_in_its_greatest_whole_unit),
                cmocka_unit_test(the_end_names_the_limit_its_value_and_where_it_is_raised),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
