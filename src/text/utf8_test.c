/* text/utf8_test.c - what text/utf8.h promises. */
#include "base/unit.h"
#include "text/utf8.h"

#include <string.h>

/* The lengths that Python's b'...'.decode(errors='replace') uses for the first character. */
static void
measures_the_first_character(void **state)
{
        static const struct {
                const char *bytes;
                size_t len, taken;
                uint32_t point;
        } cases[] = {
                { "a", 1, 1, 'a' },
                { "\0", 1, 1, 0 },
                { "\xc2\x80", 2, 2, 0x80 },
                { "\xdf\xbf", 2, 2, 0x7ff },
                { "\xe0\xa0\x80", 3, 3, 0x800 },
                { "\xed\x9f\xbf", 3, 3, 0xd7ff },
                { "\xee\x80\x80", 3, 3, 0xe000 },
                { "\xef\xbf\xbf", 3, 3, 0xffff },
                { "\xf0\x90\x80\x80", 4, 4, 0x10000 },
                { "\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff },
                { "\x80", 1, 1, UTF8_INVALID },
                { "\xc0\x80", 2, 1, UTF8_INVALID },
                { "\xc1\xbf", 2, 1, UTF8_INVALID },
                { "\xc2", 1, 1, UTF8_INVALID },
                { "\xc2"
                  "a",
                  2, 1, UTF8_INVALID },
                { "\xe0\x9f\xbf", 3, 1, UTF8_INVALID },
                { "\xe2\x82", 2, 2, UTF8_INVALID },
                { "\xe2\x82\xac", 2, 2, UTF8_INVALID }, /* the third byte is beyond the length */
                { "\xe2\x82"
                  "a",
                  3, 2, UTF8_INVALID },
                { "\xed\xa0\x80", 3, 1, UTF8_INVALID },
                { "\xf0\x8f\xbf\xbf", 4, 1, UTF8_INVALID },
                { "\xf0\x90\x80", 3, 3, UTF8_INVALID },
                { "\xf0\x90\x80"
                  "a",
                  4, 3, UTF8_INVALID },
                { "\xf4\x90\x80\x80", 4, 1, UTF8_INVALID },
                { "\xf5\x80\x80\x80", 4, 1, UTF8_INVALID },
                { "\xf8\x88\x80\x80\x80", 5, 1, UTF8_INVALID },
                { "\xff", 1, 1, UTF8_INVALID },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                uint32_t point;

                assert_int_equal(utf8_next(cases[i].bytes, cases[i].len, &point), cases[i].taken);
                assert_int_equal(point, cases[i].point);
        }
}

static void
finds_where_a_text_stops_being_one(void **state)
{
        (void)state;
        assert_int_equal(utf8_valid_len("", 0), 0);
        assert_int_equal(utf8_valid_len("a\xc3\xa9z", 4), 4);
        assert_int_equal(utf8_valid_len("a\xc3\xa9\xe2\x82", 5), 3);
        assert_int_equal(utf8_valid_len("a\xff"
                                        "b",
                                        3),
                         1);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(measures_the_first_character),
                cmocka_unit_test(finds_where_a_text_stops_being_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
