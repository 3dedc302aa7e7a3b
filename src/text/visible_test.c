/*
 * text/visible_test.c - no byte that controls a terminal passes, however the stream is split; text
 * passes unchanged.
 */
#include "text/visible.h"

#include <string.h>

#include "base/unit.h"

static void
any_cut_shows_the_same(void **state)
{
        static const struct {
                const char *in, *out;
        } cases[] = {
                { "plain\ttext\n", "plain\ttext\n" },
                { "a\r\nb\rc", "a\r\nb^Mc" },
                { "\x1b[31mred\x1b]0;title\x07", "^[[31mred^[]0;title^G" },
                { "\x7f\x01", "^?^A" },
                { "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
                  "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80" },
                { "\xc2\x9b"
                  "31m",
                  "\\x9b31m" },
                { "a\xe2\x80\xae"
                  "b\xe2\x81\xa6\xd8\x9c",
                  "a\\u202eb\\u2066\\u061c" },
                { "\xff\xc3", "\\xff\\xc3" },
                { "end\r", "end^M" },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                size_t len = strlen(cases[i].in);

                for (size_t step = 1; step <= len; step++) {
                        struct visible v = { .held_len = 0 };
                        char out[512];
                        size_t used = 0;

                        for (size_t at = 0; at < len; at += step)
                                used += visible_write(&v, cases[i].in + at,
                                                      len - at < step ? len - at : step, false,
                                                      out + used);
                        used += visible_write(&v, NULL, 0, true, out + used);
                        out[used] = '\0';
                        if (strcmp(out, cases[i].out) != 0)
                                fail_msg("case %zu in steps of %zu: %s", i, step, out);
                }
        }
}

static void
long_input_is_taken_whole(void **state)
{
        enum { LEN = 10001 };
        static char in[LEN], out[VISIBLE_MAX * (LEN + VISIBLE_HELD_MAX)];
        struct visible v = { .held_len = 0 };

        memset(in, 0xff, LEN);
        assert_int_equal(visible_write(&v, in, LEN, true, out), VISIBLE_MAX * LEN);
        assert_memory_equal(out + VISIBLE_MAX * (LEN - 1), "\\xff", VISIBLE_MAX);
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(any_cut_shows_the_same),
                                            cmocka_unit_test(long_input_is_taken_whole) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
