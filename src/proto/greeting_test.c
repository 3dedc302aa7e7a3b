/*
 * proto/greeting_test.c - how the first bytes of a connection are classified, however few have
 * arrived; and how an authority is split.
 */
#include "proto/greeting.h"

#include <string.h>

#include "base/unit.h"
#include "proto/authority.h"

#define BYTES(text) text, sizeof(text) - 1

static void
first_bytes_tell(void **state)
{
        static const struct {
                const char *bytes;
                size_t len;
                enum greeting greeting;
                size_t told /* bytes that decide */;
        } cases[] = {
                { BYTES("\x16\3\1\2\0\1"), GREETING_TLS, 2 },
                { BYTES("\x16\2"), GREETING_UNKNOWN, 2 },
                { BYTES("\x80\x2e\1\0\2"), GREETING_UNKNOWN, 1 },
                { BYTES("\x15\3\1"), GREETING_UNKNOWN, 1 },
                { BYTES("GET / HTTP/1.1\r\n"), GREETING_HTTP1, 4 },
                { BYTES("M-SEARCH * HTTP/1.1"), GREETING_HTTP1, 9 },
                { BYTES("CONNECT a:1"), GREETING_HTTP1, 8 },
                { BYTES("PRIVET / "), GREETING_HTTP1, 7 },
                { BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0"), GREETING_HTTP2, 24 },
                { BYTES("PRI * HTTP/1.1\r\n"), GREETING_UNKNOWN, 12 },
                { BYTES("PRI * HTTP/2.0\r\n\r\nSN"), GREETING_UNKNOWN, 20 },
                { BYTES("get / "), GREETING_UNKNOWN, 1 },
                { BYTES(" GET"), GREETING_UNKNOWN, 1 },
                { BYTES("-A "), GREETING_UNKNOWN, 1 },
                { BYTES("SSH-2.0-x"), GREETING_UNKNOWN, 5 },
                { BYTES("\0\0\0\x08"), GREETING_UNKNOWN, 1 },
                { BYTES("\r\nGET"), GREETING_UNKNOWN, 1 },
                { BYTES("AAAAAAAAAAAAAAAAAAAAAAAAAA"), GREETING_UNKNOWN, 21 },
                { BYTES("GET\t/"), GREETING_UNKNOWN, 4 },
        };

        assert_int_equal(greeting_read((const uint8_t *)"", 0), GREETING_MORE);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                for (size_t len = 1; len <= cases[i].len; len++) {
                        enum greeting greeting =
                                greeting_read((const uint8_t *)cases[i].bytes, len);

                        if (greeting != (len < cases[i].told ? GREETING_MORE : cases[i].greeting) ||
                            (greeting == GREETING_MORE && len >= GREETING_MAX))
                                fail_msg("%s: %d after %zu bytes", cases[i].bytes, greeting, len);
                }
        }
}

static void
authorities_are_a_name_and_a_port(void **state)
{
        static const struct {
                const char *text;
                bool is_good;
                const char *host;
                uint16_t port;
        } cases[] = {
                { "a.test", true, "a.test", 0 },
                { "A.test.", true, "A.test.", 0 },
                { "a.test:80", true, "a.test", 80 },
                { "a:65535", true, "a", 65535 },
                { "127.0.0.1:1", true, "127.0.0.1", 1 },
                { "", false, "", 0 },
                { ":80", false, "", 0 },
                { "a:", false, "", 0 },
                { "a:0", false, "", 0 },
                { "a:080", false, "", 0 },
                { "a:65536", false, "", 0 },
                { "a:99999999999", false, "", 0 },
                { "a:8x", false, "", 0 },
                { "a:80:80", false, "", 0 },
                { "u@a", false, "", 0 },
                { "u:p@a", false, "", 0 },
                { "[::1]", false, "", 0 },
                { "a b", false, "", 0 },
                { "a,b", false, "", 0 },
                { "a/b", false, "", 0 },
                { "a%2e", false, "", 0 },
                { "\xc3\xa4", false, "", 0 },
                { "a:+80", false, "", 0 },
                { "a: 80", false, "", 0 },
        };
        char longest[300];
        struct authority a;

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                bool is_good = authority_read(cases[i].text, strlen(cases[i].text), &a);

                if (is_good != cases[i].is_good ||
                    (is_good && (strcmp(a.host, cases[i].host) != 0 || a.port != cases[i].port)))
                        fail_msg("%s", cases[i].text);
        }
        memset(longest, 'a', sizeof longest);
        assert_true(authority_read(longest, AUTHORITY_HOST_MAX, &a));
        assert_int_equal(strlen(a.host), AUTHORITY_HOST_MAX);
        assert_false(authority_read(longest, AUTHORITY_HOST_MAX + 1, &a));
        assert_false(authority_read("a\0b", 3, &a));
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(first_bytes_tell),
                                            cmocka_unit_test(authorities_are_a_name_and_a_port) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
