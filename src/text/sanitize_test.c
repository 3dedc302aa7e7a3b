/*
 * text/sanitize_test.c - what is removed, and that the cuts of a stream do not matter.
 */
#include "base/unit.h"
#include "text/sanitize.h"

#include <stdlib.h>
#include <string.h>

/* Joined here, so that no tool takes this file for one with secrets. */
#define GITHUB \
        "ghp"  \
        "_0123456789abcdefghijABCDEFGHIJ012345"
#define AWS    \
        "AKIA" \
        "IOSFODNN7EXAMPLE"
#define KEY_BEGIN                \
        "-----BEGIN RSA PRIVATE" \
        " KEY-----\n"
#define KEY_END                \
        "-----END RSA PRIVATE" \
        " KEY-----"

static const struct {
        unsigned kinds;
        const char *in, *wanted; /* wanted NULL: it stays */
} rows[] = {
        { SANITIZE_ALL, "plain text\n", NULL },
        { 0, "\033[1m" GITHUB "\xe2\x80\x8b", NULL },
        { SANITIZE_secrets, "x " GITHUB " y", "x [redacted:github-token] y" },
        { SANITIZE_secrets, "x" AWS, NULL },
        { SANITIZE_secrets, AWS "\n" AWS,
          "[redacted:aws-access-key-id]\n[redacted:aws-access-key-id]" },
        { SANITIZE_secrets, "a " KEY_BEGIN "MIIE\n" KEY_END " b " AWS,
          "a [redacted:private-key] b [redacted:aws-access-key-id]" },
        { SANITIZE_secrets, KEY_BEGIN "MIIE\nno end", "[redacted:private-key]" },
        { SANITIZE_secrets, "DB_PASSWORD=hunter2 run", "DB_PASSWORD=[redacted:assignment] run" },
        { SANITIZE_secrets, "postgres://ann:hunter2@db/x",
          "postgres://ann:[redacted:url-password]@db/x" },
        /* personal data is not a secret */
        { SANITIZE_secrets, "ann@example.com +49 30 1234567", NULL },
        /* a control or hidden character does not hide a secret */
        { SANITIZE_ALL,
          "gh\033[0mp_0123456789abcdefghij\xe2\x80\x8b"
          "ABCDEFGHIJ012345!",
          "[redacted:github-token]!" },
        { SANITIZE_hidden,
          "\033[1ma\xe2\x80\x8b"
          "b",
          "\033[1mab" },
};

static void
write_pieces(unsigned kinds, const char *in, size_t len, size_t piece, struct buffer *out)
{
        struct sanitize s;

        sanitize_init(&s, kinds);
        piece = piece > 0 ? piece : len;
        for (size_t at = 0; at < len; at += piece) {
                size_t n = len - at < piece ? len - at : piece;

                assert_int_equal(sanitize_write(&s, in + at, n, false, out), 0);
                assert_true(sanitize_held(&s) <= SANITIZE_WINDOW + STRIP_HELD_MAX);
        }
        assert_int_equal(sanitize_write(&s, NULL, 0, true, out), 0);
        assert_int_equal(sanitize_held(&s), 0);
        sanitize_fini(&s);
        sanitize_fini(&s);
}

static void
what_is_removed(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                for (size_t piece = 0; piece < 6; piece++) {
                        const char *wanted = rows[i].wanted ? rows[i].wanted : rows[i].in;
                        struct buffer out = { 0 };

                        write_pieces(rows[i].kinds, rows[i].in, strlen(rows[i].in), piece, &out);
                        if (out.len != strlen(wanted) || memcmp(out.bytes, wanted, out.len) != 0)
                                fail_msg("row %zu, pieces of %zu: \"%s\"", i, piece, out.bytes);
                        buffer_fini(&out);
                }
}

static void
a_line_is_not_held(void **state)
{
        static const char line[] = "Enter your name: ", next[] = "12 tests passed\n";
        struct sanitize s;
        struct buffer out = { 0 };

        (void)state;
        sanitize_init(&s, SANITIZE_ALL);
        assert_int_equal(sanitize_write(&s, line, strlen(line), false, &out), 0);
        assert_int_equal(out.len, strlen(line));
        assert_int_equal(sanitize_write(&s, next, strlen(next), false, &out), 0);
        assert_int_equal(out.len, strlen(line) + strlen(next));
        sanitize_fini(&s);
        buffer_fini(&out);
}

static char *
long_text(const char *head, size_t fill, const char *tail, size_t *ret_len)
{
        size_t first = strlen(head), last = strlen(tail);
        char *text = malloc(first + fill + last);

        assert_non_null(text);
        memcpy(text, head, first);
        memset(text + first, 'x', fill);
        memcpy(text + first + fill, tail, last);
        *ret_len = first + fill + last;
        return text;
}

/* Nothing of a secret is passed on because it is longer than the window, wherever its end is. */
static void
secrets_longer_than_the_window(void **state)
{
        static const struct {
                const char *head, *tail, *wanted;
        } long_rows[] = {
                { "password=", " b", "password=[redacted:assignment] b" },
                { KEY_BEGIN, "\n" KEY_END " b", "[redacted:private-key] b" },
                { KEY_BEGIN, "", "[redacted:private-key]" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof long_rows / sizeof *long_rows; i++)
                for (size_t fill = SANITIZE_WINDOW - 90; fill < SANITIZE_WINDOW + 10; fill++) {
                        const char *wanted = long_rows[i].wanted;
                        struct buffer out = { 0 };
                        size_t len;
                        char *text = long_text(long_rows[i].head, fill, long_rows[i].tail, &len);

                        write_pieces(SANITIZE_secrets, text, len, fill % 2 ? 0 : 4096, &out);
                        if (out.len != strlen(wanted) || memcmp(out.bytes, wanted, out.len) != 0)
                                fail_msg("row %zu, %zu: %.100s", i, fill, out.bytes);
                        buffer_fini(&out);
                        free(text);
                }
}

/* Random streams of what the rules look for: every way to cut them gives the same. */
static void
cuts_do_not_matter(void **state)
{
        static const char *const parts[] = {
                GITHUB,      AWS,       KEY_BEGIN,   KEY_END,
                "password=", "\033[1m", "\033]0;t",  "\007",
                "\r",        "\n",      "\xe2\x80",  "\x8b",
                "Bearer ",   " ",       "-----END ", "eyJabcdefgh.eyJabcdefgh.",
                "://a:b@",   "\"",      "a",         "\x9c"
        };
        unsigned seed = 7;

        (void)state;
        for (int round = 0; round < 400; round++) {
                struct buffer in = { 0 }, whole = { 0 };

                for (int i = 0; i < 12; i++) {
                        const char *part;

                        seed = seed * 1103515245u + 12345u;
                        part = parts[(seed >> 16) % (sizeof parts / sizeof *parts)];
                        assert_int_equal(buffer_add(&in, part, strlen(part), SIZE_MAX / 2), 0);
                }
                write_pieces(SANITIZE_ALL, in.bytes, in.len, 0, &whole);
                for (size_t piece = 1; piece < 20; piece++) {
                        struct buffer cut = { 0 };

                        write_pieces(SANITIZE_ALL, in.bytes, in.len, piece, &cut);
                        if (cut.len != whole.len ||
                            (cut.len > 0 && memcmp(cut.bytes, whole.bytes, cut.len) != 0))
                                fail_msg("round %d, pieces of %zu: \"%s\", \"%s\"", round, piece,
                                         whole.bytes, cut.bytes);
                        buffer_fini(&cut);
                }
                buffer_fini(&in);
                buffer_fini(&whole);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_removed),
                cmocka_unit_test(a_line_is_not_held),
                cmocka_unit_test(secrets_longer_than_the_window),
                cmocka_unit_test(cuts_do_not_matter),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
