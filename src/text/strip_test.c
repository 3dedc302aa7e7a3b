/*
 * text/strip_test.c - what goes and what stays, however the stream is cut.
 */
#include "base/unit.h"
#include "text/strip.h"

#include <string.h>

enum { CONTROL = 1, HIDDEN = 2, BOTH = 3 };

/* `wanted` NULL: it stays. `count`: of removed or replaced things. */
static const struct row {
        int kinds;
        const char *in, *wanted;
        uint64_t count;
} rows[] = {
        { BOTH, "plain\ttext\nin lines\r\n", NULL, 0 },
        { CONTROL, "\033[31mred\033[0m", "red", 2 },
        { CONTROL, "\033[?25l\033[2J\033[1;1Hx", "x", 3 },
        { HIDDEN, "\033[31mred\033[0m", NULL, 0 },
        { CONTROL, "\033]0;title\007a\033]8;;http://x\033\\b", "ab", 2 },
        { CONTROL, "\033]0;\xe2\x80\x9cquoted\xe2\x80\x9d\007a", "a", 1 },
        { CONTROL,
          "\033Pq#0\007still\033\\a\033_app\033\\b\033^pm\x9c"
          "c\033Xsos\033\\d",
          "abcd", 4 },
        { CONTROL,
          "\xc2\x9b"
          "31mred\x9b"
          "0m!",
          "red!", 2 },
        { CONTROL,
          "\xc2\x9d"
          "52;c;aGk=\xc2\x9cx\x9d"
          "0;t\x9cy",
          "xy", 2 },
        { CONTROL, "a\033(Bb\033=c\033cd\033#8e", "abcde", 4 },
        { CONTROL, "a\033[3\030b\033]t\032c", "abc", 2 },
        { CONTROL, "a\033[3\nb", "a\nb", 1 },
        { CONTROL, "a\033\033[1mb", "ab", 2 },
        { CONTROL, "a\033]x\033[1mb", "ab", 1 },
        { CONTROL, "a\033", "a", 1 },
        { CONTROL, "a\033]never ends", "a", 1 },
        { CONTROL, "a\bb\007c\177d\013e\014f", "abcdef", 5 },
        { CONTROL, "10%\r20%\r\nok\r", "10%\n20%\r\nok\n", 2 },
        { CONTROL, "a\r\r\nb", "a\n\r\nb", 1 },
        { HIDDEN, "10%\r20%\b\033", NULL, 0 },
        { BOTH, "gr\xc3\xbc\xc3\x9f\x65 \xe2\x82\xac \xf0\x9f\x98\x80", NULL, 0 },
        { HIDDEN,
          "a\xe2\x80\xae"
          "b\xe2\x81\xa6"
          "c\xe2\x80\x8f",
          "abc", 3 },
        { CONTROL,
          "a\xe2\x80\xae"
          "b",
          NULL, 0 },
        { HIDDEN,
          "a\xe2\x80\x8b"
          "b\xc2\xad"
          "c\xef\xbb\xbf"
          "d\xe2\x81\xa0",
          "abcd", 4 },
        { HIDDEN,
          "a\xf3\xa0\x81\x81\xf3\xa0\x81\xbf"
          "b",
          "ab", 2 },
        { HIDDEN, "\xe2\x9d\xa4\xef\xb8\x8f 1\xef\xb8\x8f", NULL, 0 },
        { HIDDEN, "\xf0\x9f\x98\x80\xef\xb8\x8f\xef\xb8\x8f\xef\xb8\x80\xf3\xa0\x84\x80",
          "\xf0\x9f\x98\x80\xef\xb8\x8f", 3 },
        { HIDDEN, "a\xef\xb8\x8f", "a", 1 },
        { CONTROL, "\xff\xfe \xe2 \xc0\xaf \xa0", NULL, 0 },
        { CONTROL, "\x80 \xed\xa0\x80 \xe2\x80", " \xed\xa0 \xe2", 3 },
        { HIDDEN, "\x80 \xe2\x80", NULL, 0 },
};

/* In pieces of `piece` bytes; 0: at once. */
static void
strip(const struct row *r, size_t piece, struct buffer *out, uint64_t *ret_count)
{
        struct strip s = { .control = (r->kinds & CONTROL) != 0,
                           .hidden = (r->kinds & HIDDEN) != 0 };
        size_t len = strlen(r->in);

        piece = piece > 0 ? piece : len;
        for (size_t at = 0; at < len; at += piece)
                assert_int_equal(strip_write(&s, r->in + at, len - at < piece ? len - at : piece,
                                             false, out),
                                 0);
        assert_int_equal(strip_write(&s, NULL, 0, true, out), 0);
        *ret_count = s.controls + s.hiddens;
}

static void
what_goes_and_what_stays(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                for (size_t piece = 0; piece < 8; piece++) {
                        const char *wanted = rows[i].wanted ? rows[i].wanted : rows[i].in;
                        struct buffer out = { 0 };
                        uint64_t count;

                        strip(&rows[i], piece, &out, &count);
                        if (out.len != strlen(wanted) || memcmp(out.bytes, wanted, out.len) != 0)
                                fail_msg("row %zu, pieces of %zu: \"%s\"", i, piece, out.bytes);
                        if (count != rows[i].count)
                                fail_msg("row %zu, pieces of %zu: %d", i, piece, (int)count);
                        buffer_fini(&out);
                }
}

static void
a_string_without_an_end_is_bounded(void **state)
{
        static char in[STRIP_STRING_MAX + 100];
        struct strip s = { .control = true };
        struct buffer out = { 0 };

        (void)state;
        memset(in, 'x', sizeof in);
        memcpy(in, "\033]", 2);
        assert_int_equal(strip_write(&s, in, sizeof in, true, &out), 0);
        assert_true(out.len > 0 && out.len < 100);
        buffer_fini(&out);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_goes_and_what_stays),
                cmocka_unit_test(a_string_without_an_end_is_bounded),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
