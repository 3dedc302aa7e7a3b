/*
 * gate/judge_test.c - no byte of a request passes before its host is known.
 */
#include "gate/judge.h"

#include <string.h>

#include "base/unit.h"

#define GET(host) "GET / HTTP/1.1\r\nHost: " host "\r\n\r\n"

struct row {
        const char *bytes;
        enum judge_verdict verdict;
        enum denial reason;
        const char *passed;
        const char *other;
};

static const struct row rows[] = {
        { GET("api.test"), JUDGE_PASS, DENIAL_NONE, GET("api.test"), "" },
        { GET("API.test:80"), JUDGE_PASS, DENIAL_NONE, GET("API.test:80"), "" },
        { GET("api.test") GET("api.test"), JUDGE_PASS, DENIAL_NONE, GET("api.test") GET("api.test"),
          "" },
        { GET("api.test") "GET / HT", JUDGE_PASS, DENIAL_NONE, GET("api.test"), "" },
        { GET("evil.test"), JUDGE_REFUSED, DENIAL_HOST_OTHER, "", "evil.test" },
        { GET("api.test") GET("evil.test"), JUDGE_REFUSED, DENIAL_HOST_OTHER, GET("api.test"),
          "evil.test" },
        { GET("api.test:8080"), JUDGE_REFUSED, DENIAL_HOST_OTHER, "", "api.test:8080" },
        { GET("127.0.0.1"), JUDGE_REFUSED, DENIAL_HOST_OTHER, "", "127.0.0.1" },
        { "GET / HTTP/1.1\r\n\r\n", JUDGE_REFUSED, DENIAL_HOST_NONE, "", "" },
        { "GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n", JUDGE_REFUSED,
          DENIAL_PROXY_FORM, "", "api.test" },
        { "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", JUDGE_REFUSED,
          DENIAL_CONNECT, "", "evil.test" },
        { "GET / HTTP/1.1\r\nHost: api.test\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
          JUDGE_REFUSED, DENIAL_UPGRADE, "", "" },
        { "GET / HTTP/1.1\nHost: api.test\n\n", JUDGE_REFUSED, DENIAL_MALFORMED, "", "" },
};

static struct policy *
the_list(void)
{
        static const char texts[] = "api.test";
        struct policy *p = policy_new(texts, sizeof texts, 1, 0, 1);

        assert_non_null(p);
        return p;
}

/* The result must not depend on how the bytes are split. */
static void
take(const struct row *r, size_t step)
{
        static const struct egress_host host = { "api.test" };
        struct policy *p = the_list();
        struct judge *j = judge_new(p, &host, 80, PROTOCOL_HTTP1);
        enum judge_verdict v = JUDGE_PASS;
        enum denial reason = DENIAL_NONE;
        struct egress_host other = { "" };
        size_t passed = 0, len = strlen(r->bytes);

        assert_non_null(j);
        for (size_t have = step < len ? step : len; v == JUDGE_PASS;
             have = have + step < len ? have + step : len) {
                size_t pass;

                v = judge_take(j, r->bytes + passed, have - passed, &pass, &reason, &other);
                passed += pass;
                if (have == len)
                        break;
        }
        if (v != r->verdict || reason != r->reason || passed != strlen(r->passed) ||
            (v == JUDGE_REFUSED && strcmp(other.text, r->other) != 0))
                fail_msg("in steps of %zu: %s: verdict %d, %s, %zu bytes passed, \"%s\"", step,
                         r->bytes, (int)v, denial_name(reason), passed, other.text);
        judge_free(j);
        policy_unref(p);
}

static void
each_request_is_for_this_host(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                for (size_t step = 1; step < 200; step = step * 3 + 1)
                        take(&rows[i], step);
}

static void
a_websocket_waits_for_its_answer(void **state)
{
        static const char ask[] = "GET / HTTP/1.1\r\nHost: api.test\r\nConnection: "
                                  "Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                  "Sec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==\r\n\r\nframe";
        static const char yes[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: "
                                  "websocket\r\nConnection: Upgrade\r\n\r\n";
        static const struct egress_host host = { "api.test" };
        struct policy *p = the_list();
        struct judge *j = judge_new(p, &host, 80, PROTOCOL_HTTP1);
        struct egress_host other;
        enum denial reason;
        size_t pass;

        (void)state;
        assert_int_equal(judge_take(j, ask, sizeof ask - 1, &pass, &reason, &other), JUDGE_WAITS);
        assert_int_equal(pass, sizeof ask - 1 - 5);
        assert_true(judge_has_request(j));
        assert_int_equal(judge_answered(j, yes, 5), -1);
        assert_int_equal(judge_answered(j, yes, sizeof yes - 1), 1);
        judge_free(j);
        policy_unref(p);
}

#define HELLO_OF(len4, len3, sni, name_len, name) \
        "\x16\3\1\0" len4 "\1\0\0" len3 "\3\3"    \
        "0123456789abcdef0123456789abcdef"        \
        "\0\0\2\x13\x01\1\0" sni name_len name
#define HELLO_API HELLO_OF("\x40", "\x3c", "\0\x11\0\0\0\x0d\0\x0b\0\0", "\x08", "api.test")
#define HELLO_EVIL HELLO_OF("\x41", "\x3d", "\0\x12\0\0\0\x0e\0\x0c\0\0", "\x09", "evil.test")
#define CHANGE "\x14\3\3\0\1\1"
#define EARLY "\x17\3\3\0\3abc"
#define SIZED(text) text, sizeof(text) - 1

/* The host of a second TLS greeting, with records that may precede it. */
static void
H13_a_second_greeting_is_for_the_same_host(void **state)
{
        static const struct {
                const char *bytes;
                size_t len;
                enum judge_verdict verdict;
                enum denial reason;
                size_t passed;
        } greetings[] = {
                { SIZED(HELLO_API "\x17more"), JUDGE_OVER, DENIAL_NONE,
                  sizeof HELLO_API "\x17more" - 1 },
                { SIZED(CHANGE EARLY EARLY HELLO_API), JUDGE_OVER, DENIAL_NONE,
                  sizeof CHANGE EARLY EARLY HELLO_API - 1 },
                { SIZED(HELLO_EVIL), JUDGE_REFUSED, DENIAL_SNI_OTHER, 0 },
                { SIZED(CHANGE EARLY HELLO_EVIL), JUDGE_REFUSED, DENIAL_SNI_OTHER,
                  sizeof CHANGE EARLY - 1 },
                { SIZED(EARLY "\x16\3\3\0\1\x14"), JUDGE_REFUSED, DENIAL_MALFORMED,
                  sizeof EARLY - 1 },
                { SIZED("GET / HTTP/1.1"), JUDGE_REFUSED, DENIAL_MALFORMED, 0 },
                { SIZED(CHANGE "\x17\3\3\1\0abc"), JUDGE_PASS, DENIAL_NONE,
                  sizeof CHANGE "\x17\3\3\1\0abc" - 1 },
                { SIZED("\x16\3\3"), JUDGE_PASS, DENIAL_NONE, 0 },
        };
        static const struct egress_host host = { "api.test" };

        (void)state;
        for (size_t i = 0; i < sizeof greetings / sizeof *greetings; i++)
                for (size_t step = 1; step <= greetings[i].len; step = step < 9 ? step + 1
                                                                       : greetings[i].len > step
                                                                               ? greetings[i].len
                                                                               : step + 1) {
                        struct policy *p = the_list();
                        struct judge *j = judge_new(p, &host, 443, PROTOCOL_TLS);
                        enum judge_verdict v = JUDGE_PASS;
                        enum denial reason = DENIAL_NONE;
                        struct egress_host other;
                        size_t passed = 0, have = 0, len = greetings[i].len, pass;

                        assert_non_null(j);
                        assert_int_equal(judge_answered(j, "\x16\3\3", 3), -1);
                        assert_int_equal(judge_answered(j, "\x15\3\3\0\2\2\x28", 7), 1);
                        assert_int_equal(judge_answered(j, "\x16\3\3\0\1\2", 6), 0);
                        while (v == JUDGE_PASS && have < len) {
                                have = have + step < len ? have + step : len;
                                v = judge_take(j, greetings[i].bytes + passed, have - passed, &pass,
                                               &reason, &other);
                                passed += pass;
                        }
                        if (v == JUDGE_OVER)
                                passed = len;
                        if (v != greetings[i].verdict || reason != greetings[i].reason ||
                            passed != greetings[i].passed)
                                fail_msg("greeting %zu in steps of %zu: verdict %d, %s, %zu bytes "
                                         "passed",
                                         i, step, (int)v, denial_name(reason), passed);
                        judge_free(j);
                        policy_unref(p);
                }
}

static void
a_list_is_whole_or_not_at_all(void **state)
{
        static const struct {
                const char *texts;
                size_t len;
                uint32_t allow, private_names;
                bool is_good;
        } lists[] = {
                { "a.test\0b.test:5432", 19, 2, 0, true },
                { "a.test\0db.internal", 19, 1, 1, true },
                { "", 0, 0, 0, true },
                { "a.test\0*", 9, 2, 0, false },
                { "a.test", 6, 1, 0, false },
                { "a.test", 7, 2, 0, false },
                { "a.test\0b.test", 14, 1, 0, false },
                { "a.test", 7, UINT32_MAX, 0, false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
                struct policy *p = policy_new(lists[i].texts, lists[i].len, lists[i].allow,
                                              lists[i].private_names, 7);

                if ((p != NULL) != lists[i].is_good)
                        fail_msg("list %zu is %s", i, p ? "taken" : "refused");
                policy_unref(p);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_request_is_for_this_host),
                cmocka_unit_test(a_websocket_waits_for_its_answer),
                cmocka_unit_test(a_list_is_whole_or_not_at_all),
                cmocka_unit_test(H13_a_second_greeting_is_for_the_same_host),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
