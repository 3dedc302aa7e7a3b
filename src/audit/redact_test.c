/*
 * audit/redact_test.c - each rule finds its form, leaves what looks like it, and what it removed is
 * in no entry.
 */
#include "audit/redact.h"
#include "base/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error error;

/* Joined here, so that no tool takes this file for one with secrets. */
#define GITHUB \
        "ghp"  \
        "_0123456789abcdefghijABCDEFGHIJ012345"
#define PEM                                     \
        "-----BEGIN RSA PRIVATE"                \
        " KEY-----\nMIIE\n-----END RSA PRIVATE" \
        " KEY-----"
#define JWT "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4fwpMeJf36POk6y"

static const struct {
        const char *text, *wanted; /* wanted NULL: it stays */
} cases[] = {
        { "curl -H 'Authorization: Bearer abcdefghij0123456789'",
          "curl -H 'Authorization: Bearer [redacted:bearer]'" },
        { "authorization: basic dXNlcjpwYXNzd29yZA==", "authorization: basic [redacted:bearer]" },
        { "bearer of good news", NULL },
        { "x " GITHUB " y", "x [redacted:github-token] y" },
        { "xghp"
          "_0123456789abcdefghijABCDEFGHIJ012345",
          NULL },
        { "AKIA"
          "IOSFODNN7EXAMPLE",
          "[redacted:aws-access-key-id]" },
        { "AKIA"
          "IOSFODNN7EXAMPLE0",
          NULL },
        { "sk-"
          "ant-api03-0123456789abcdef",
          "[redacted:anthropic-key]" },
        { "sk-"
          "proj-0123456789abcdef0123",
          "[redacted:openai-key]" },
        { "task-0123456789abcdef0123", NULL },
        { "xoxb"
          "-123456789012-abcdef",
          "[redacted:slack-token]" },
        { JWT, "[redacted:jwt]" },
        { "eyJhbGciOiJIUzI1NiJ9.only", NULL },
        { "a " PEM " b", "a [redacted:private-key] b" },
        { "-----BEGIN PRIVATE"
          " KEY-----\nMIIE",
          "[redacted:private-key]" },
        { "-----BEGIN CERTIFICATE-----\nMIIE", NULL },
        { "postgres://ann:hunter2@db/x", "postgres://ann:[redacted:url-password]@db/x" },
        { "postgres://ann@db:5432/x", NULL },
        { "http://[::1]:80/a@b", NULL },
        { "DB_PASSWORD=hunter2 run", "DB_PASSWORD=[redacted:assignment] run" },
        { "--api-key='a b'", "--api-key='[redacted:assignment] b'" },
        { "{\"password\": \"hunter2\"}", "{\"password\": \"[redacted:assignment]\"}" },
        { "mysql --password hunter2 x", "mysql --password [redacted:assignment] x" },
        { "the password hunter", NULL },
        { "TOKEN=$TOKEN", NULL },
        { "tokens=12", NULL },
        { "mail ann.b+c@example.com.", "mail [redacted:email]." },
        { "user@host", NULL },
        { "a@1.2.3.4", NULL },
        { "+49 30 1234567", "[redacted:phone]" },
        { "call +14155550123 now", "call [redacted:phone] now" },
        { "tail -n +100", NULL },
        { "1+14155550123", NULL },
        { "4111 1111 1111 1111", "[redacted:card-number]" },
        { "4111111111111111", "[redacted:card-number]" },
        { "4111111111111112", NULL },
        { "1700000000000", NULL },
        { "DE89 3704 0044 0532 0130 00", "[redacted:iban]" },
        { "GB82WEST12345698765432", "[redacted:iban]" },
        { "GB82WEST12345698765433", NULL },
        { "", NULL },
};

static char *
redacted(const char *text)
{
        size_t counts[64] = { 0 };
        struct buffer out = { 0 };

        assert_int_equal(redact_text(text, counts, &out, &error), 0);
        return out.bytes ? buffer_take(&out) : calloc(1, 1);
}

static void
each_form_is_removed(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                char *got = redacted(cases[i].text), *again;

                assert_string_equal(got, cases[i].wanted ? cases[i].wanted : cases[i].text);
                again = redacted(got);
                assert_string_equal(again, got);
                free(again);
                free(got);
        }
}

/* Each rule has an authority, and a case that it removes. */
static void
each_rule_has_a_case(void **state)
{
        static const char *const without[] = { "stripe-key", "gitlab-token", "google-api-key",
                                               "npm-token", "huggingface-token" };
        size_t count, missing = 0;
        const struct redact_rule *rules = redact_rules(&count);

        (void)state;
        for (size_t i = 0; i < count; i++) {
                bool is_there = false;
                char mark[64];

                assert_true(strlen(rules[i].authority) > 8);
                (void)snprintf(mark, sizeof mark, "[redacted:%s]", rules[i].name);
                for (size_t j = 0; j < sizeof cases / sizeof *cases; j++)
                        is_there |= cases[j].wanted && strstr(cases[j].wanted, mark);
                missing += !is_there;
        }
        assert_int_equal(missing, sizeof without / sizeof *without);
}

/* The digest of words that held something is one that only the log's key can make. */
static void
json_says_what_was_removed(void **state)
{
        static const char json[] =
                "{\"argv\":[\"curl\",\"--password\",\"hunter2\",\"a@b.org\"],"
                "\"argc\":4,\"argv_sha256\":\"00ff\",\"deep\":[{\"x\":\"a@b.org\"}]}";
        struct audit_key key = { .bytes = { 1 } };
        struct buffer out = { 0 };

        (void)state;
        assert_int_equal(redact_json(json, &key, &out, &error), 0);
        assert_null(strstr(out.bytes, "hunter2"));
        assert_null(strstr(out.bytes, "a@b.org"));
        assert_null(strstr(out.bytes, "argv_sha256\":\"00ff"));
        assert_non_null(strstr(out.bytes, "\"argv_hmac_sha256\":\""));
        assert_non_null(strstr(out.bytes, "\"redacted\":{\"assignment\":1,\"email\":2}"));
        buffer_fini(&out);
        assert_int_equal(redact_json("{\"argv_sha256\":\"00ff\"}", &key, &out, &error), 0);
        assert_int_equal(out.len, 0);
        assert_int_equal(redact_json("[]", &key, &out, &error), -1);
}

/* A text of 256 KiB that begins a rule at every place: a rule that looks at its rest each time
 * would need minutes. */
static void
hostile_texts_cost_little(void **state)
{
        static const char *const parts[] = { "a",           "a.",      "eyJ",       "sk-",
                                             "://a:",       "+1",      "4 ",        "DE89",
                                             "-----BEGIN ", "bearer ", "password=", "a@a." };
        enum { LEN = 256 * 1024 };
        char *text = malloc(LEN + 1);

        (void)state;
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                size_t part = strlen(parts[i]);

                for (size_t at = 0; at < LEN; at++)
                        text[at] = parts[i][at % part];
                text[LEN] = '\0';
                free(redacted(text));
        }
        free(text);
}

static void
a_group_that_is_off_removes_nothing(void **state)
{
        char *got;

        (void)state;
        redact_leave(1u << REDACT_personal | 1u << REDACT_credentials);
        got = redacted("ann@example.com +14155550123 4111111111111111 DB_PASSWORD=hunter2");
        assert_string_equal(got, "ann@example.com +14155550123 [redacted:card-number] "
                                 "DB_PASSWORD=[redacted:assignment]");
        free(got);
        redact_leave(~0u);
        got = redacted("DE89 3704 0044 0532 0130 00, x " GITHUB);
        assert_string_equal(got, "DE89 3704 0044 0532 0130 00, x [redacted:github-token]");
        free(got);
        redact_leave(0);
        got = redacted("ann@example.com");
        assert_string_equal(got, "[redacted:email]");
        free(got);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_form_is_removed),
                cmocka_unit_test(each_rule_has_a_case),
                cmocka_unit_test(json_says_what_was_removed),
                cmocka_unit_test(a_group_that_is_off_removes_nothing),
                cmocka_unit_test(hostile_texts_cost_little),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
