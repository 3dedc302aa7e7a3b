/*
 * proto/http1_test.c - H12: which requests a connection carries, for which hosts, and that no byte
 * passes before it was judged, however the bytes are split.
 */
#include "proto/http1.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

#define A "Host: a.test\r\n"
#define GET "GET / HTTP/1.1\r\n"
#define POST "POST / HTTP/1.1\r\n"

struct seen {
        char events[512];
        size_t passed;
};

static void
say(struct seen *s, const char *text)
{
        size_t len = strlen(s->events);

        (void)snprintf(s->events + len, sizeof s->events - len, "%s", text);
}

/* "FORM host[:port][>target:port]" */
static void
say_request(struct seen *s, const struct http1_request *r)
{
        static const char *const forms[] = { [HTTP1_ORIGIN] = "origin",
                                             [HTTP1_ABSOLUTE] = "absolute",
                                             [HTTP1_AUTHORITY] = "connect",
                                             [HTTP1_ASTERISK] = "asterisk" };
        static const char *const upgrades[] = { [HTTP1_NO_UPGRADE] = "",
                                                [HTTP1_WEBSOCKET] = " websocket",
                                                [HTTP1_H2C] = " h2c",
                                                [HTTP1_OTHER] = " other" };
        char port[16] = "", target[300] = "";
        const char *const words[] = { "[",
                                      forms[r->form],
                                      " ",
                                      r->host.host,
                                      port,
                                      target,
                                      upgrades[r->upgrade],
                                      r->is_secure_target ? " secure]" : "]" };

        if (r->host.port)
                (void)snprintf(port, sizeof port, ":%u", r->host.port);
        if (strcmp(r->target.host, r->host.host) != 0 || r->target.port != r->host.port)
                (void)snprintf(target, sizeof target, ">%s:%u", r->target.host, r->target.port);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                say(s, words[i]);
}

/*
 * Acts as the gate: bytes arrive in steps, in a buffer of exactly their size, and are sent as soon
 * as they may pass. `permits` requests are permitted; `switches` is the answer to an upgrade.
 */
static struct seen
carry(const char *bytes, size_t len, size_t step, int permits, int switches)
{
        static struct http1 j;
        struct seen s = { .events = "" };
        size_t there = 0;

        http1_init(&j);
        while (there < len) {
                bool is_over = false;

                there = there + step < len ? there + step : len;
                while (!is_over) {
                        char *exact = malloc(there - s.passed + 1);
                        struct error e = { .code = ERROR_NONE };
                        size_t pass;
                        enum http1_verdict verdict;

                        assert_non_null(exact);
                        memcpy(exact, bytes + s.passed, there - s.passed);
                        exact = realloc(exact, there - s.passed > 0 ? there - s.passed : 1);
                        assert_non_null(exact);
                        verdict = http1_take(&j, exact, there - s.passed, &pass, &e);
                        free(exact);
                        assert_true(pass <= there - s.passed);
                        s.passed += pass;
                        is_over = true;
                        if (verdict == HTTP1_REQUEST) {
                                say_request(&s, &j.request);
                                if (permits-- == 0)
                                        return s;
                                http1_permit(&j);
                                is_over = false;
                        } else if (verdict == HTTP1_WAITING && switches >= 0) {
                                http1_switched(&j, switches != 0);
                                is_over = false;
                        } else if (verdict == HTTP1_WAITING && there == len) {
                                say(&s, "waits");
                        } else if (verdict == HTTP1_NO_HOST || verdict == HTTP1_MALFORMED) {
                                say(&s, verdict == HTTP1_NO_HOST ? "no host" : "malformed ");
                                say(&s, verdict == HTTP1_NO_HOST ? "" : e.reason);
                                assert_int_not_equal(e.code, ERROR_NONE);
                                assert_int_not_equal(http1_take(&j, "GET", 3, &pass, &e),
                                                     HTTP1_REQUEST);
                                assert_int_equal(pass, 0);
                                return s;
                        }
                }
        }
        return s;
}

#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"
#define ALL SIZE_MAX

static void
H12_requests_are_reported_and_forwarded(void **state) /* taste: its table is long */
{
        static const struct {
                const char *text, *events;
                size_t passed;
                int permits, switches;
        } cases[] = {
                { GET A "\r\n", "[origin a.test]", ALL, 9, -1 },
                { GET "hOsT: A.test:80\r\n\r\n", "[origin A.test:80]", ALL, 9, -1 },
                { GET "hOsT:\t A.test:80 \r\n\r\n", "malformed blanks", 0, 9, -1 },
                { GET A "\r\n", "[origin a.test]", 0, 0, -1 },
                { "OPTIONS * HTTP/1.1\r\n" A "\r\n", "[asterisk a.test]", ALL, 9, -1 },
                { "PROPFIND /x HTTP/1.1\r\n" A "\r\n", "[origin a.test]", ALL, 9, -1 },
                { GET A "\r\n" GET A "\r\n" GET "Host: evil\r\n\r\n" GET A "\r\n",
                  "[origin a.test][origin a.test][origin evil]", 2 * (sizeof GET A "\r\n" - 1), 2,
                  -1 },
                { POST A "Content-Length: 5\r\n\r\nhello" GET A "\r\n",
                  "[origin a.test][origin a.test]", ALL, 9, -1 },
                { POST A "Content-Length: 5\r\n\r\nhello" GET "Host: evil\r\n\r\n",
                  "[origin a.test][origin evil]",
                  sizeof POST A "Content-Length: 5\r\n\r\nhello" - 1, 1, -1 },
                { POST A CHUNKED "5\r\nhello\r\n0\r\n\r\n" GET "Host: b\r\n\r\n",
                  "[origin a.test][origin b]", ALL, 9, -1 },
                { POST A CHUNKED "5\r\nhelloX", "[origin a.test]malformed chunk",
                  sizeof POST A CHUNKED "5\r\nhello" - 1, 9, -1 },
                { POST A CHUNKED "5\r\nhello\r\n0\r\nX: y\r\n\r\n",
                  "[origin a.test]malformed chunk", sizeof POST A CHUNKED "5\r\nhello\r\n0\r\n" - 1,
                  9, -1 },
                { POST A "Expect: 100-continue\r\nContent-Length: 1\r\n\r\nx", "[origin a.test]",
                  ALL, 9, -1 },
                { GET A "Connection: close\r\n\r\n", "[origin a.test]", ALL, 9, -1 },
                { "GET / HTTP/1.0\r\n" A "\r\n", "[origin a.test]", ALL, 9, -1 },
                { GET A "Connection: close\r\n\r\nG", "[origin a.test]malformed after_last",
                  sizeof GET A "Connection: close\r\n\r\n" - 1, 9, -1 },
                { "GET / HTTP/1.0\r\n" A "\r\n" GET A "\r\n", "[origin a.test]malformed after_last",
                  sizeof "GET / HTTP/1.0\r\n" A "\r\n" - 1, 9, -1 },
                { "POST / HTTP/1.0\r\n" A "Content-Length: 2\r\n\r\nab", "[origin a.test]", ALL, 9,
                  -1 },
                /* hosts: none, two, other forms */
                { GET "\r\n", "no host", 0, 9, -1 },
                { GET "Host:\r\n\r\n", "no host", 0, 9, -1 },
                { GET A A "\r\n", "no host", 0, 9, -1 },
                { GET A "host: evil\r\n\r\n", "no host", 0, 9, -1 },
                { "GET / HTTP/1.0\r\n\r\n", "no host", 0, 9, -1 },
                { GET "Host: a.test, evil\r\n\r\n", "malformed host_value", 0, 9, -1 },
                { GET "Host: u@a.test\r\n\r\n", "malformed host_value", 0, 9, -1 },
                { GET "Host: a.test:\r\n\r\n", "malformed host_value", 0, 9, -1 },
                { GET "Host: a.test:x\r\n\r\n", "malformed host_value", 0, 9, -1 },
                { GET "Host: [::1]\r\n\r\n", "malformed host_value", 0, 9, -1 },
                { GET "Host : a.test\r\n\r\n", "malformed name", 0, 9, -1 },
                { GET " " A "\r\n", "malformed fold", 0, 9, -1 },
                { GET A "X: a\r\n Host: evil\r\n\r\n", "malformed fold", 0, 9, -1 },
                /* for a proxy */
                { "GET http://a.test/x HTTP/1.1\r\n" A "\r\n", "[absolute a.test]", ALL, 9, -1 },
                { "GET HTTP://A.test?x HTTP/1.1\r\n" A "\r\n", "[absolute a.test>A.test:0]", ALL, 9,
                  -1 },
                { "GET https://a.test:81 HTTP/1.1\r\nHost: a.test:81\r\n\r\n",
                  "[absolute a.test:81 secure]", ALL, 9, -1 },
                { "GET http://evil/ HTTP/1.1\r\n" A "\r\n", "malformed two_hosts", 0, 9, -1 },
                { "GET http://a.test/ HTTP/1.1\r\nHost: evil\r\n\r\n", "malformed two_hosts", 0, 9,
                  -1 },
                { "GET http://a.test:81/ HTTP/1.1\r\n" A "\r\n", "malformed two_hosts", 0, 9, -1 },
                { "GET http://u@a.test/ HTTP/1.1\r\n" A "\r\n", "malformed target", 0, 9, -1 },
                { "GET http:///x HTTP/1.1\r\n" A "\r\n", "malformed target", 0, 9, -1 },
                { "GET ftp://a.test/ HTTP/1.1\r\n" A "\r\n", "malformed target", 0, 9, -1 },
                { "GET a.test HTTP/1.1\r\n" A "\r\n", "malformed", 0, 9, -1 },
                { "GET * HTTP/1.1\r\n" A "\r\n", "malformed", 0, 9, -1 },
                { "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", "[connect a.test:443]",
                  0, 0, -1 },
                { "CONNECT a.test:443 HTTP/1.1\r\n" A "\r\n", "[connect a.test>a.test:443]", 0, 0,
                  -1 },
                { "CONNECT a.test:443 HTTP/1.0\r\n\r\n", "[connect a.test:443]", 0, 0, -1 },
                { "CONNECT a.test HTTP/1.1\r\n" A "\r\n", "malformed", 0, 9, -1 },
                { "CONNECT / HTTP/1.1\r\n" A "\r\n", "malformed", 0, 9, -1 },
                { "CONNECT evil:443 HTTP/1.1\r\n" A "\r\n", "malformed two_hosts", 0, 9, -1 },
                { "CONNECT a.test:443 HTTP/1.1\r\n" A "Content-Length: 3\r\n\r\n",
                  "malformed framing", 0, 9, -1 },
                /* smuggling */
                { POST A "Content-Length: 5\r\n" CHUNKED, "malformed framing", 0, 9, -1 },
                { POST A "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", "malformed repeated", 0,
                  9, -1 },
                { POST A "Transfer-Encoding: gzip, chunked\r\n\r\n", "malformed transfer_encoding",
                  0, 9, -1 },
                { POST A "Transfer-Encoding : chunked\r\n\r\n", "malformed name", 0, 9, -1 },
                { POST A "Transfer-Encoding: xchunked\r\n\r\n", "malformed transfer_encoding", 0, 9,
                  -1 },
                { POST A "Content-Length: +5\r\n\r\n", "malformed content_length", 0, 9, -1 },
                { GET "Host: a.test\n\r\n", "malformed bare_lf", 0, 9, -1 },
                { "\r\n" GET A "\r\n", "malformed empty_line", 0, 9, -1 },
                { "GET / HTTP/1.1\rHost: a\r\n\r\n", "malformed bare_cr", 0, 9, -1 },
                { "get / HTTP/1.1\r\n" A "\r\n", "malformed parser", 0, 9, -1 },
                { "FROB / HTTP/1.1\r\n" A "\r\n", "malformed parser", 0, 9, -1 },
                { "PRI * HTTP/2.0\r\n\r\n", "malformed ", 0, 9, -1 },
                { "GET /\x01 HTTP/1.1\r\n" A "\r\n", "malformed control", 0, 9, -1 },
                { "GET / HTTP/1.1 \r\n" A "\r\n", "malformed version", 0, 9, -1 },
                { "GET  / HTTP/1.1\r\n" A "\r\n", "malformed version", 0, 9, -1 },
                /* upgrades */
                { GET A "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x05",
                  "[origin a.test websocket]waits",
                  sizeof GET A "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n" - 1, 9, -1 },
                { GET A "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x05\r\n\n",
                  "[origin a.test websocket]", ALL, 9, 1 },
                { GET A "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n" GET A "\r\n",
                  "[origin a.test websocket][origin a.test]", ALL, 9, 0 },
                { GET A "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: "
                        "AAMAAABk\r\n\r\n",
                  "[origin a.test h2c]", 0, 0, -1 },
                { GET A "Upgrade: foo, h2c\r\n\r\n", "[origin a.test h2c]", 0, 0, -1 },
                { GET A "Upgrade: websocket\r\n\r\n", "[origin a.test other]", 0, 0, -1 },
                { GET A "\r\n" GET A "Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
                  "[origin a.test][origin a.test other]", sizeof GET A "\r\n" - 1, 1, -1 },
                { POST A "Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 3\r\n\r\n",
                  "[origin a.test other]", 0, 0, -1 },
                { GET A "Upgrade: TLS/1.0\r\nConnection: Upgrade\r\n\r\n", "[origin a.test other]",
                  0, 0, -1 },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                size_t len = strlen(cases[i].text);

                for (size_t step = 1; step <= len + 1; step = step < 9 ? step + 1 : step * 2) {
                        struct seen s = carry(cases[i].text, len, step, cases[i].permits,
                                              cases[i].switches);
                        bool is_same = cases[i].events[strlen(cases[i].events) - 1] == 'd'
                                               ? strncmp(s.events, cases[i].events,
                                                         strlen(cases[i].events)) == 0
                                               : strcmp(s.events, cases[i].events) == 0;

                        if (!is_same ||
                            s.passed != (cases[i].passed == ALL ? len : cases[i].passed))
                                fail_msg("case %zu in steps of %zu: %s, %zu bytes", i, step,
                                         s.events, s.passed);
                }
        }
}

static void
H12_no_nul_in_a_head(void **state)
{
        static const char text[] = GET "Host: a\0.test\r\n\r\n";
        struct seen s = carry(text, sizeof text - 1, sizeof text, 9, -1);

        assert_string_equal(s.events, "malformed control");
        assert_int_equal(s.passed, 0);
}

static void
heads_are_bounded(void **state)
{
        static char text[HTTP1_HEAD_MAX + 64];
        size_t len = (size_t)snprintf(text, sizeof text, GET A "X: ");
        struct seen s;

        memset(text + len, 'x', sizeof text - len);
        s = carry(text, sizeof text, 1000, 9, -1);
        assert_string_equal(s.events, "malformed ");
        memcpy(text + HTTP1_HEAD_MAX - 4, "\r\n\r\n", 4);
        s = carry(text, HTTP1_HEAD_MAX, 1000, 9, -1);
        assert_string_equal(s.events, "[origin a.test]");
        assert_int_equal(s.passed, HTTP1_HEAD_MAX);
}

static void
nothing_passes_without_leave(void **state)
{
        static const char text[] = GET A "\r\n" GET A "\r\n";
        struct http1 j;
        struct error e;
        size_t pass = 1;

        http1_init(&j);
        http1_permit(&j); /* no request waits for a permission yet */
        http1_switched(&j, true);
        for (int i = 0; i < 3; i++) {
                assert_int_equal(http1_take(&j, text, sizeof text - 1, &pass, &e), HTTP1_REQUEST);
                assert_int_equal(pass, 0);
        }
        http1_permit(&j);
        http1_permit(&j); /* one permission for one request */
        assert_int_equal(http1_take(&j, text, 10, &pass, &e), HTTP1_MORE);
        assert_int_equal(pass, 0);
        assert_int_equal(http1_take(&j, text, sizeof text - 1, &pass, &e), HTTP1_REQUEST);
        assert_int_equal(pass, (sizeof text - 1) / 2);
}

static void
answers_to_an_upgrade_are_recognised(void **state)
{
        static const struct {
                const char *text;
                int status;
        } cases[] = {
                { "", -1 },
                { "HTTP/1.1 10", -1 },
                { "HTTP/1.1 101", 1 },
                { "HTTP/1.1 101 Switching\r\n", 1 },
                { "HTTP/1.1 200 OK\r\n", 0 },
                { "HTTP/1.0 403", 0 },
                { "HTTP/1.1 100 Continue\r\n\r\n", -1 },
                { "HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 101", 1 },
                { "HTTP/1.1 103 x\r\n\r\nHTTP/1.1 200", 0 },
                { "HTTP/1.1 100 x\r\nHTTP/1.1 101", -1 },
                { "HTTP/2 200", -2 },
                { "SSH-2.0", -2 },
                { "HTTP/1.1 1x1", -2 },
                { "HTTP/1.1 600", -2 },
                { "HTTP/1.1 000", -2 },
                { "HTTP/1.1 099", -2 },
        };
        char *text = malloc(HTTP1_HEAD_MAX);

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                if (http1_answer_status(cases[i].text, strlen(cases[i].text)) != cases[i].status)
                        fail_msg("%s: %d", cases[i].text,
                                 http1_answer_status(cases[i].text, strlen(cases[i].text)));
        assert_non_null(text);
        memset(text, 'x', HTTP1_HEAD_MAX);
        memcpy(text, "HTTP/1.1 100 ", 13);
        assert_int_equal(http1_answer_status(text, HTTP1_HEAD_MAX - 1), -1);
        assert_int_equal(http1_answer_status(text, HTTP1_HEAD_MAX), -2);
        free(text);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(H12_requests_are_reported_and_forwarded),
                cmocka_unit_test(H12_no_nul_in_a_head),
                cmocka_unit_test(heads_are_bounded),
                cmocka_unit_test(nothing_passes_without_leave),
                cmocka_unit_test(answers_to_an_upgrade_are_recognised),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
