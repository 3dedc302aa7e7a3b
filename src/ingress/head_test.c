/*
 * ingress/head_test.c - how the port proxy checks and rewrites HTTP heads.
 */
#include "ingress/head.h"

#include <stdio.h>
#include <string.h>

#include "base/unit.h"

static int
find(const char *text, struct http_head *h, struct ingress_target *t, struct error *e)
{
        size_t at = 0, len = 0;

        assert_int_equal(http_head_scan(text, strlen(text), &at, &len, e), 1);
        assert_int_equal(http_head_read(text, len, HTTP_METHODS_PROXY, h, e), 0);
        return ingress_find(h, t, e);
}

static void
tokens_are_found(void **state)
{
        static const struct {
                const char *text, *token, *path;
        } cases[] = {
                { "GET /~tok/a?b HTTP/1.1\r\nHost: localhost:1\r\n\r\n", "tok", "/a?b" },
                { "GET /~tok HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "tok", "" },
                { "GET /~tok?x HTTP/1.1\r\nHost: [::1]:5\r\n\r\n", "tok", "?x" },
                { "GET /a HTTP/1.1\r\nHost: tok.localhost:1\r\n\r\n", "tok", "/a" },
                { "GET /~x/ HTTP/1.1\r\nHost: tok.localhost\r\n\r\n", "tok", "/~x/" },
                { "GET /a HTTP/1.1\r\nHost: localhost\r\nX-Carrel-Token: tok\r\n\r\n", "tok",
                  "/a" },
                { "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", NULL, NULL },
                { "GET /~/ HTTP/1.1\r\nHost: localhost\r\n\r\n", NULL, NULL },
                { "GET /~a%20/ HTTP/1.1\r\nHost: localhost\r\n\r\n", NULL, NULL },
                { "GET / HTTP/1.1\r\nHost: a.b.localhost\r\n\r\n", NULL, NULL },
                { "GET /~tok/ HTTP/1.1\r\nHost: evil\r\n\r\n", NULL, NULL },
                { "GET / HTTP/1.1\r\nHost: tok.localhost.evil\r\n\r\n", NULL, NULL },
                { "GET / HTTP/1.1\r\nHost: tok.localhost\r\nX-Carrel-Token: other\r\n\r\n", NULL,
                  NULL },
                { "GET /~0123456789012345678901234567890123456789012345678901234567890123/ "
                  "HTTP/1.1\r\nHost: localhost\r\n\r\n",
                  NULL, NULL },
                { "GET /~tok/ HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: "
                  "websocket\r\nOrigin: http://evil\r\n\r\n",
                  NULL, NULL },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct ingress_target t;
                struct http_head h;
                struct error e;
                int result = find(cases[i].text, &h, &t, &e);

                if ((result == 0) != (cases[i].token != NULL) ||
                    (result == 0 && (strcmp(t.token, cases[i].token) != 0 ||
                                     !http_text_is(t.path, cases[i].path))) ||
                    (result < 0 && e.code != ERROR_FORBIDDEN))
                        fail_msg("case %zu: %d", i, result);
        }
}

static void
heads_are_rewritten(void **state)
{
        static const char in[] =
                "POST /~tok/a HTTP/1.1\r\nHost: tok.localhost:9\r\nConnection: x-b\r\nX-A: "
                "1\r\nX-B: 2\r\nTE: trailers\r\nX-Forwarded-For: 6.6.6.6\r\nReferer: "
                "http://tok.localhost/\r\nContent-Length: 3\r\n\r\n";
        static const char want[] =
                "POST /~tok/a HTTP/1.1\r\nHost: localhost\r\nX-A: 1\r\nX-Forwarded-For: "
                "127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: "
                "localhost:9\r\nContent-Length: 3\r\nConnection: close\r\n\r\n";
        static const char answer[] =
                "HTTP/1.1 200 Fine\r\nSet-Cookie: a=b; DOMAIN=x; Secure;Domain\r\nSet-Cookie: "
                "domain=1\r\nConnection: close\r\nAlt-Svc: x\r\nContent-Length: 2\r\n\r\n";
        static const char given[] =
                "HTTP/1.1 200 Answer\r\nSet-Cookie: a=b; Secure\r\nSet-Cookie: "
                "domain=1\r\nReferrer-Policy: same-origin\r\nContent-Length: 2\r\n\r\n";
        struct bytes out = { 0 };
        struct ingress_target t;
        struct http_head h;
        struct error e;

        assert_int_equal(find(in, &h, &t, &e), 0);
        assert_int_equal(ingress_write_request(&h, &t, &out), 0);
        if (out.len != sizeof want - 1 || memcmp(out.at, want, out.len) != 0)
                fail_msg("%.*s", (int)out.len, out.at);
        bytes_fini(&out);
        assert_int_equal(http_head_read(answer, sizeof answer - 1, 0, &h, &e), 0);
        assert_int_equal(ingress_write_answer(&h, &t, 0, 0, &out), 0);
        if (out.len != sizeof given - 1 || memcmp(out.at, given, out.len) != 0)
                fail_msg("%.*s", (int)out.len, out.at);
        bytes_fini(&out);
}

/* Ports that are reached by a path prefix share one host name; their cookies stay separate. */
static void
ports_are_kept_apart(void **state)
{
        static const char in[] =
                "GET /~tok/a HTTP/1.1\r\nHost: localhost\r\nX_Forwarded_For: "
                "6.6.6.6\r\nContent_Length: 4\r\ntransfer_encoding: chunked\r\nmy_own: 1\r\n"
                "Referer: http://localhost:9/~other/page\r\nCookie: session=of-another-service; "
                "c56f9b71944659fbd.a=b; xc56f9b71944659fbd.c=d;c56f9b71944659fbd.c=\r\nCookie: "
                "e=f\r\n\r\n";
        static const char want[] =
                "GET /a HTTP/1.1\r\nHost: localhost\r\nmy_own: 1\r\nCookie: a=b; "
                "c=\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: "
                "localhost\r\nConnection: close\r\n\r\n";
        static const char answer[] =
                "HTTP/1.1 200 Fine\r\nSet-Cookie: a=b; path = /x;Secure\r\nSet-Cookie: "
                "path=/\r\nSet-Cookie: c=d; Path=x; Pathological=/\r\nService-Worker-Allowed: /\r\n"
                "NEL: x\r\nContent-Length: 2\r\n\r\n";
        static const char given[] =
                "HTTP/1.1 200 Answer\r\nSet-Cookie: c56f9b71944659fbd.a=b; "
                "Path=/~tok/x;Secure\r\nSet-Cookie: c56f9b71944659fbd.path=/\r\nSet-Cookie: "
                "c56f9b71944659fbd.c=d; Path=x; Pathological=/\r\nReferrer-Policy: "
                "same-origin\r\nContent-Length: 2\r\n\r\n";
        struct bytes out = { 0 };
        struct ingress_target t;
        struct http_head h;
        struct error e;

        (void)state;
        assert_int_equal(find(in, &h, &t, &e), 0);
        assert_int_equal(ingress_write_request(&h, &t, &out), 0);
        if (out.len != sizeof want - 1 || memcmp(out.at, want, out.len) != 0)
                fail_msg("%.*s", (int)out.len, out.at);
        bytes_fini(&out);
        assert_int_equal(http_head_read(answer, sizeof answer - 1, 0, &h, &e), 0);
        assert_int_equal(ingress_write_answer(&h, &t, 0, 0, &out), 0);
        if (out.len != sizeof given - 1 || memcmp(out.at, given, out.len) != 0)
                fail_msg("%.*s", (int)out.len, out.at);
        bytes_fini(&out);
}

/*
 * The URL of a page contains its token: it is sent to no other site, whatever the server's policy
 * is.
 */
static void
addresses_are_kept(void **state)
{
        static const struct {
                const char *said, *given;
        } rows[] = {
                { "", "same-origin" },
                { "Referrer-Policy: unsafe-url\r\n", "same-origin" },
                { "referrer-policy: no-referrer\r\n", "no-referrer" },
                { "Referrer-Policy: no-referrer, origin\r\n", "same-origin" },
                { "Referrer-Policy: origin\r\nReferrer-Policy: no-referrer\r\n", "no-referrer" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct ingress_target t = { .token = "tok" };
                char answer[128], given[128];
                struct bytes out = { 0 };
                struct http_head h;
                struct error e;

                (void)snprintf(answer, sizeof answer,
                               "HTTP/1.1 200 Fine\r\n%sContent-Length: 0\r\n\r\n", rows[i].said);
                (void)snprintf(
                        given, sizeof given,
                        "HTTP/1.1 200 Answer\r\nReferrer-Policy: %s\r\nContent-Length: 0\r\n\r\n",
                        rows[i].given);
                assert_int_equal(http_head_read(answer, strlen(answer), 0, &h, &e), 0);
                assert_int_equal(ingress_write_answer(&h, &t, 0, 0, &out), 0);
                if (out.len != strlen(given) || memcmp(out.at, given, out.len) != 0)
                        fail_msg("%s: %.*s", rows[i].said, (int)out.len, out.at);
                bytes_fini(&out);
        }
}

static void
a_server_that_names_itself_leads_through_us_again(void **state)
{
        static const char by_path[] = "GET /~tok/a HTTP/1.1\r\nHost: 127.0.0.1:4000\r\n\r\n",
                          by_name[] = "GET /a HTTP/1.1\r\nHost: tok.localhost:4000\r\n\r\n";
        static const struct {
                const char *said, *by_path, *by_name;
        } rows[] = {
                { "/x?y", "/~tok/x?y", "/x?y" },
                { "http://localhost/x", "/~tok/x", "/x" },
                { "HTTP://LocalHost", "/~tok/", "/" },
                { "http://localhost:3000/x/", "/~tok/x/", "/x/" },
                { "http://127.0.0.1:3000/", "/~tok/", "/" },
                { "http://[::1]:3000/", "/~tok/", "/" },
                { "http://127.0.0.1:4000/x", "/~tok/x", NULL },
                { "http://localhost:4000/x", NULL, "/x" },
                { "x", NULL, NULL },
                { "?x", NULL, NULL },
                { "//localhost/x", NULL, NULL },
                { "http://localhost//evil.example/", NULL, NULL },
                { "https://localhost/x", NULL, NULL },
                { "http://localhost:30001/", NULL, NULL },
                { "http://localhost.evil.example/", NULL, NULL },
                { "http://127.0.0.1/", NULL, NULL },
                { "http://localhost?x", NULL, NULL },
                { "http://user@localhost/", NULL, NULL },
                { "http://", NULL, NULL },
                { "", NULL, NULL },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                for (int is_by_name = 0; is_by_name < 2; is_by_name++) {
                        const char *want = is_by_name ? rows[i].by_name : rows[i].by_path;
                        char answer[128], given[128];
                        struct bytes out = { 0 };
                        struct ingress_target t;
                        struct http_head h;
                        struct error e;

                        assert_int_equal(find(is_by_name ? by_name : by_path, &h, &t, &e), 0);
                        t.port = 3000;
                        (void)snprintf(
                                answer, sizeof answer,
                                "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n",
                                rows[i].said);
                        (void)snprintf(given, sizeof given,
                                       "HTTP/1.1 302 Answer\r\nLocation: %s\r\nReferrer-Policy: "
                                       "same-origin\r\nContent-Length: 0\r\n\r\n",
                                       want ? want : rows[i].said);
                        assert_int_equal(http_head_read(answer, strlen(answer), 0, &h, &e), 0);
                        assert_int_equal(ingress_write_answer(&h, &t, 0, 0, &out), 0);
                        if (out.len != strlen(given) || memcmp(out.at, given, out.len) != 0)
                                fail_msg("%s: %.*s", rows[i].said, (int)out.len, out.at);
                        bytes_fini(&out);
                }
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(tokens_are_found), cmocka_unit_test(heads_are_rewritten),
                cmocka_unit_test(ports_are_kept_apart), cmocka_unit_test(addresses_are_kept),
                cmocka_unit_test(a_server_that_names_itself_leads_through_us_again)
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
