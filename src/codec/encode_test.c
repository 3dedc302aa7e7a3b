/*
 * codec/encode_test.c - encodes and decodes bytes.
 */
#include "codec/encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

static void
base64_goes_there_and_back(void **state)
{
        unsigned char bytes[64], back[64];
        char text[BASE64_ROOM(64)];
        size_t got = 0;

        for (size_t len = 0; len < sizeof bytes; len++) {
                for (size_t i = 0; i < len; i++)
                        bytes[i] = (unsigned char)(i * 37 + len);
                assert_int_equal(base64_write(bytes, len, text), BASE64_ROOM(len) - 1);
                assert_int_equal(base64_read(text, strlen(text), back, &got), 0);
                assert_int_equal(got, len);
                assert_memory_equal(back, bytes, len);
        }
        (void)base64_write("Ma", 2, text);
        assert_string_equal(text, "TWE=");
        /* as programs wrap it */
        assert_int_equal(base64_read("TW\r\nE=\r\n", 8, back, &got), 0);
        assert_int_equal(got, 2);
        assert_memory_equal(back, "Ma", 2);
}

static void
what_is_no_base64_is_refused(void **state)
{
        static const char *const cases[] = { "a",    "ab",   "abc",   "a===",     "====",
                                             "ab=c", "ab c", "abc\n", "YQ==YQ==", "-_-_" };
        unsigned char out[16];
        size_t len;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                if (base64_read(cases[i], strlen(cases[i]), out, &len) == 0)
                        fail_msg("%s", cases[i]);
}

static void
percent_encoding_is_undone(void **state)
{
        static const struct {
                const char *text;
                int is_query;
                const char *want;
        } cases[] = {
                { "a%2Fb", 0, "a/b" }, { "a+b", 0, "a+b" },
                { "a+b", 1, "a b" },   { "%e2%82%AC", 0, "\xe2\x82\xac" },
                { "", 0, "" },         { "%41", 0, "A" },
                { "%", 0, NULL },      { "%4", 0, NULL },
                { "%4g", 0, NULL },    { "%00", 0, NULL },
                { "a%", 1, NULL },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                /* exact size: a sanitizer reports an extra byte */
                char *exact = malloc(strlen(cases[i].text) + 1), out[32] = "";
                size_t len, text_len = strlen(cases[i].text);
                int result;

                assert_non_null(exact);
                memcpy(exact, cases[i].text, text_len);
                result = percent_read(exact, text_len, cases[i].is_query, out, &len);
                if (result != (cases[i].want ? 0 : -1) ||
                    (cases[i].want && strcmp(out, cases[i].want) != 0))
                        fail_msg("%s: %d %s", cases[i].text, result, out);
                free(exact);
        }
}

static void
only_a_cut_character_waits(void **state)
{
        static const struct {
                const char *bytes;
                size_t whole;
        } cases[] = {
                { "abc", 3 },          { "a\xe2\x82", 1 },        { "a\xe2\x82\xac", 4 },
                { "\xf0\x9f\x98", 0 }, { "\xf0\x9f\x98\x80", 4 }, { "a\xff", 2 },
                { "a\xc3", 1 },        { "\xe0\x80", 2 },         { "\xed\xa0", 2 },
                { "\x82\x82\x82", 3 }, { "\xf5\x80", 2 },         { "", 0 },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                if (encode_whole_len(cases[i].bytes, strlen(cases[i].bytes)) != cases[i].whole)
                        fail_msg("case %zu: %zu", i,
                                 encode_whole_len(cases[i].bytes, strlen(cases[i].bytes)));
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(base64_goes_there_and_back),
                cmocka_unit_test(what_is_no_base64_is_refused),
                cmocka_unit_test(percent_encoding_is_undone),
                cmocka_unit_test(only_a_cut_character_waits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
