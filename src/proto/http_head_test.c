/*
 * proto/http_head_test.c - what is accepted, however it is split. The many refusals are tested from
 * outside (test/parts/http_smuggling_test.py). Here, each reason has one row, with the position on
 * which both readers must agree.
 */
#include "proto/http_head.h"

#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "proto/http_reader.h"

#define HOST "Host: localhost\r\n"

static int
take(const char *text, unsigned methods, struct http_head *h, struct error *e)
{
        size_t at = 0, len = 0;
        int found = http_head_scan(text, strlen(text), &at, &len, e);

        if (found <= 0)
                return found < 0 ? -1 : -2;
        return http_head_read(text, len, methods, h, e);
}

static void
refusals_have_reasons(void **state)
{
        static const struct {
                const char *text, *reason;
                int http;
        } cases[] = {
                { "GET / HTTP/1.1\n", "bare_lf", 400 },
                { "GET / HTTP/1.1\rX", "bare_cr", 400 },
                { "\r\nGET /", "empty_line", 400 },
                { "GET /\x01", "control", 400 },
                { "GET /\r\n\r\n", "request_line", 400 },
                { "GET / HTTP/2.0\r\n\r\n", "", 505 },
                { "GET / HTTP/1.10\r\n\r\n", "version", 400 },
                { "HEAD / HTTP/1.1\r\n\r\n", "", 405 },
                { "GET a HTTP/1.1\r\n\r\n", "target", 400 },
                { "GET / HTTP/1.1\r\n\r\n", "host", 400 },
                { "GET / HTTP/1.1\r\n" HOST HOST "\r\n", "repeated", 400 },
                { "GET / HTTP/1.1\r\n" HOST " X: y\r\n\r\n", "fold", 400 },
                { "GET / HTTP/1.1\r\n" HOST "X\r\n\r\n", "no_colon", 400 },
                { "GET / HTTP/1.1\r\n" HOST "X : y\r\n\r\n", "name", 400 },
                { "POST / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n", "content_length", 400 },
                { "POST / HTTP/1.1\r\n" HOST "Content-Length: 1 \r\n\r\n", "blanks", 400 },
                { "POST / HTTP/1.1\r\n" HOST "Content-Length: 1\t\r\n\r\n", "blanks", 400 },
                { "POST / HTTP/1.1\r\n" HOST "Content-Length:  1\r\n\r\n", "blanks", 400 },
                { "POST / HTTP/1.1\r\n" HOST "Content-Length:\t1\r\n\r\n", "blanks", 400 },
                { "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked \r\n\r\n", "blanks", 400 },
                { "GET / HTTP/1.1\r\nHost: a.test \r\n\r\n", "blanks", 400 },
                { "POST / HTTP/1.1\r\n" HOST
                  "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                  "framing", 400 },
                { "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", "framing", 400 },
                { "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip\r\n\r\n", "transfer_encoding",
                  400 },
                { "POST / HTTP/1.1\r\n" HOST "Expect: x\r\n\r\n", "", 417 },
                { "GET / HTTP/1.1\r\n" HOST "Connection: host\r\n\r\n", "connection", 400 },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct http_head h;
                struct error e = { 0 };

                if (take(cases[i].text, HTTP_METHODS_REST, &h, &e) != -1 ||
                    strcmp(e.reason, cases[i].reason) != 0 ||
                    error_http_status(e.code) != cases[i].http)
                        fail_msg("%s: %s %d", cases[i].text, e.reason, error_http_status(e.code));
        }
}

static void
a_head_is_taken_apart(void **state)
{
        struct http_head h;
        struct error e;

        assert_int_equal(take("POST /a?b=c HTTP/1.1\r\n" HOST
                              "X: \t y \t\r\nContent-Length: 12\r\nConnection: keep-alive, "
                              "close\r\nExpect: 100-Continue\r\n\r\n",
                              HTTP_METHODS_REST, &h, &e),
                         0);
        assert_int_equal(h.method, HTTP_METHOD_POST);
        assert_true(http_text_is(h.target, "/a?b=c"));
        assert_int_equal(h.field_count, 5);
        assert_true(http_text_is(http_head_find(&h, "x")->value, "y"));
        assert_int_equal(h.framing, HTTP_LENGTH);
        assert_int_equal(h.length, 12);
        assert_true(h.is_last && h.wants_continue && !h.wants_upgrade);
        assert_int_equal(take("GET / HTTP/1.0\r\n" HOST "\r\n", HTTP_METHODS_REST, &h, &e), 0);
        assert_true(h.is_last && h.minor == 0);
        assert_int_equal(take("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n", 0, &h, &e),
                         0);
        assert_true(h.status == 200 && h.framing == HTTP_CHUNKED);
        assert_int_equal(take("HTTP/1.0 200\r\n\r\n", 0, &h, &e), 0);
        assert_int_equal(h.framing, HTTP_UNTIL_CLOSE);
        assert_int_equal(take("HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\n", 0, &h, &e), 0);
        assert_int_equal(h.framing, HTTP_NO_BODY);
}

static void
a_head_may_come_in_pieces(void **state)
{
        static const char text[] = "GET / HTTP/1.1\r\n" HOST "\r\nGET";

        for (size_t cut = 0; cut < sizeof text - 4; cut++) {
                size_t at = 0, len = 0;
                struct error e;

                assert_int_equal(http_head_scan(text, cut, &at, &len, &e), 0);
                assert_int_equal(http_head_scan(text, sizeof text - 1, &at, &len, &e), 1);
                assert_int_equal(len, sizeof text - 4);
        }
}

static void
heads_have_limits(void **state)
{
        char *text = malloc(HTTP_HEAD_MAX + 64);
        size_t at = 0, len;
        struct error e;

        assert_non_null(text);
        memset(text, 'a', HTTP_HEAD_MAX + 64);
        assert_int_equal(http_head_scan(text, HTTP_HEAD_MAX + 1, &at, &len, &e), -1);
        assert_int_equal(e.code, ERROR_TARGET_TOO_LONG);
        memcpy(text, "GET / HTTP/1.1\r\n", 16);
        at = 0;
        assert_int_equal(http_head_scan(text, HTTP_HEAD_MAX + 1, &at, &len, &e), -1);
        assert_int_equal(e.code, ERROR_HEADERS_TOO_LARGE);
        free(text);
}

/* -- bodies ------------------------------------------------------------------------------------ */

struct sink {
        char bytes[64];
        size_t len;
};

static void
collect(void *data, const char *bytes, size_t len)
{
        struct sink *s = data;

        memcpy(s->bytes + s->len, bytes, len);
        s->len += len;
}

/*
 * Runs both readers, in steps of `step` bytes. 0: the message is complete, and the first `taken`
 * bytes belong to it.
 */
static int
read_message(const char *text, size_t step, struct sink *sink, size_t *taken)
{
        struct http_head h;
        struct http_body b;
        struct reader r;
        struct error e;
        size_t at = 0, len = 0, all = strlen(text);

        if (http_head_scan(text, all, &at, &len, &e) != 1 ||
            http_head_read(text, len, HTTP_METHODS_REST, &h, &e) < 0)
                return -1;
        reader_init(&r, 0, 0);
        if (reader_head(&r, text, &h, &e) < 0)
                return -1;
        http_body_init(&b, &h);
        for (at = len; at < all && !b.is_over;) {
                size_t most = all - at < step ? all - at : step, here;

                if (http_body_take(&b, text + at, most, &here, &e) < 0 ||
                    reader_body(&r, text + at, here, collect, sink, &e) < 0)
                        return -1;
                at += here;
        }
        *taken = at;
        return b.is_over && r.is_complete ? 0 : b.is_over != r.is_complete ? -3 : -2;
}

#define CHUNKED "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"
#define LENGTH5 "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n"

static void
head_and_parser_agree_on_every_cut(void **state)
{
        static const struct {
                const char *text;
                int result;
                const char *body;
                size_t behind;
        } cases[] = {
                { CHUNKED "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", 0, "hello world", 0 },
                { CHUNKED "0\r\n\r\nGET", 0, "", 3 },
                { LENGTH5 "helloGET", 0, "hello", 3 },
                { CHUNKED "00000005\r\nhello\r\n0\r\n\r\n", 0, "hello", 0 },
                { LENGTH5 "hell", -2, "hell", 0 },
                { CHUNKED "5\r\nhello\r\n0\r\n", -2, "hello", 0 },
                { CHUNKED "000000005\r\nhello\r\n0\r\n\r\n", -1, "", 0 },
                { CHUNKED "5;a\r\nhello\r\n0\r\n\r\n", -1, "", 0 },
                { CHUNKED "\r\n", -1, "", 0 },
                { CHUNKED "5\r\nhelloX", -1, NULL, 0 },
                { CHUNKED "0\r\nX: y\r\n\r\n", -1, NULL, 0 },
                { CHUNKED "0x5\r\n", -1, NULL, 0 },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                for (size_t step = 1; step < 40; step++) {
                        struct sink sink = { .len = 0 };
                        size_t taken = 0;
                        int result = read_message(cases[i].text, step, &sink, &taken);

                        if (result != cases[i].result ||
                            (result != -1 && (sink.len != strlen(cases[i].body) ||
                                              memcmp(sink.bytes, cases[i].body, sink.len) != 0)) ||
                            (result == 0 && strlen(cases[i].text) - taken != cases[i].behind))
                                fail_msg("case %zu in steps of %zu: %d, %.*s", i, step, result,
                                         (int)sink.len, sink.bytes);
                }
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(refusals_have_reasons),
                cmocka_unit_test(a_head_is_taken_apart),
                cmocka_unit_test(a_head_may_come_in_pieces),
                cmocka_unit_test(heads_have_limits),
                cmocka_unit_test(head_and_parser_agree_on_every_cut),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
