/* base/name_test.c - what base/name.h promises. */
#include "base/name.h"
#include <string.h>

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

static void
any_text_is_one_name_of_a_directory(void **state)
{
        static const char *const rows[][2] = { { "uid:1000", "uid:1000" },
                                               { "tenant/../b", "tenant=2f=2e=2e=2fb" },
                                               { ".", "=2e" },
                                               { "a=2f", "a=3d2f" },
                                               { "\xc3\xa4 b", "=c3=a4=20b" } };
        static const char *const none[] = { "", ".lock", "a/b", "=2", "=2F", "=zz", "=00", "=61" };
        char name[64], text[64];

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                assert_int_equal(name_encode(rows[i][0], name, sizeof name), strlen(rows[i][1]));
                assert_string_equal(name, rows[i][1]);
                assert_true(name_decode(name, text, sizeof text));
                assert_string_equal(text, rows[i][0]);
        }
        for (size_t i = 0; i < sizeof none / sizeof *none; i++)
                if (name_decode(none[i], text, sizeof text))
                        fail_msg("\"%s\" is \"%s\"", none[i], text);
        assert_int_equal(name_encode("", name, sizeof name), 0);
        assert_int_equal(name_encode("abcd", name, 4), 0);
        assert_false(name_decode("abcd", text, 4));
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(is_one_name_of_a_directory),
                cmocka_unit_test(any_text_is_one_name_of_a_directory),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
