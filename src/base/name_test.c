/* base/name_test.c - what base/name.h promises. */
#include "base/name.h"
#include "base/unit.h"

static void
is_one_name_of_a_directory(void **state)
{
        static const struct {
                const char *text;
                bool is_valid;
        } rows[] = {
                { "a", true },
                { "npm-cache", true },
                { "1.2_x", true },
                { "abcdef", true },
                { "0123456789abcdeg", true },
                { "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", true },
                { "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0", false },
                { "0123456789abcdef", false },
                { "", false },
                { ".", false },
                { "..", false },
                { ".a", false },
                { "-a", false },
                { "_a", false },
                { "a/b", false },
                { "A", false },
                { "a b", false },
                { "a:b", false },
                { "a\nb", false },
                { "../a", false },
                { "\xc3\xa4", false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (name_is_valid(rows[i].text) != rows[i].is_valid)
                        fail_msg("\"%s\": %d", rows[i].text, !rows[i].is_valid);
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(is_one_name_of_a_directory) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
