/*
 * spec/credential_test.c - the formats of credentials, each with texts that almost match. The
 * values are made up.
 *
 * slow: 30 s: with sanitizers, as it computes over every text
 */
#include "spec/credential.h"

#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

#define A16 "abcdefghijklmnop"
#define D30 "0123456789abcdefghij0123456789"
#define H32 "0123456789abcdef0123456789abcdef"

static void
shapes_are_found_and_near_misses_are_not(void **state)
{
        static const struct {
                const char *hit, *miss;
        } cases[] = {
                { "sk-" A16, "sk-abcdefghijklmno" },
                { "key=sk-" A16, "task-" A16 },
                { "sk-proj_" A16, "disk-" A16 },
                { "sk_live_abcdefgh", "sk_live_abcdefg" },
                { "rk_test_12345678", "xk_test_12345678" },
                { "pk_live_12345678", "pk_prod_12345678" },
                { "AKIA0123456789ABCDEF", "AKIA0123456789ABCDE" },
                { "ASIA0123456789ABCDEF.", "ASIA0123456789ABCDEFG" },
                { "ghp_" D30, "ghp_0123456789abcdefghij012345678" },
                { "ghr_" D30, "ghx_" D30 },
                { "github_pat_0123456789abcdefghij", "github_pat_0123456789abcdefghi" },
                { "glpat-" A16, "glpat-abcdefghijklmno" },
                { "xoxb-1234567890", "xoxb-123456789" },
                { "xoxs-abc-def-ghij", "xoxz-1234567890" },
                { "AIza0123456789012345678901234567890123_",
                  "AIza0123456789012345678901234567890123" },
                { "eyJhbGciOiJI.eyJzdWIiOiIx.sig", "eyJhbGciOiJI.eyJzdWIiOiIx" },
                { "-eyJhbGciOiJI.eyJzdWIiOiIx.", "eyJhbGc.eyJzdWIiOiIx." },
                { "-----BEGIN PRIVATE KEY-----", "-----BEGIN PUBLIC KEY-----" },
                { "x\n-----BEGIN RSA PRIVATE KEY-----\n", "-----BEGIN rsa PRIVATE KEY-----" },
                { "-----BEGIN OPENSSH PRIVATE KEY-----", "-----BEGIN PRIVATE KEY----" },
                { "e2b_" H32, "e2b_0123456789abcdef0123456789abcde" },
                { "e2b_" H32 "x", "e2b_0123456789abcdef0123456789abcdeg" },
                { "hf_0123456789abcdefghij", "hf_0123456789abcdefghi" },
                { "Bearer 0123456789abcdef", "Bearer 0123456789abcde" },
                { "bEaReR \t0123456789.-_abc", "bearer0123456789abcdef" },
                { "https://u:p@host/", "https://host:80/@x" },
                { "postgres://me:hunter2@db/x", "https://u@host/" },
                { "a+b.c-d://u:p@h", "://u:p@h" },
                { "HTTPS://u:p@h", "https://u:@h" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                if (!credential_shape_find(cases[i].hit))
                        fail_msg("not found: %s", cases[i].hit);
                if (credential_shape_find(cases[i].miss))
                        fail_msg("found as %s: %s", credential_shape_find(cases[i].miss),
                                 cases[i].miss);
        }
        assert_null(credential_shape_find(""));
        assert_null(credential_shape_find("org/acme/modal-token"));
}

static void
keys_are_compared_without_case_and_joints(void **state)
{
        static const char *const names[] = { "api_key",       "apiKey",
                                             "API-KEY",       "api key",
                                             "token",         "Secret_Access_Key",
                                             "passwd",        "connectionString",
                                             "refresh-token", "privateKey",
                                             "bearer",        "credentials" };
        static const char *const others[] = {
                "api_key_ref", "api_token_ref",
                "tokens",      "key",
                "auth",        "keyboard",
                "secretary",   "",
                "_",           "averyveryverylongkeythatnamesnothing"
        };

        (void)state;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                if (!credential_key_check(names[i]))
                        fail_msg("not a credential: %s", names[i]);
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
                if (credential_key_check(others[i]))
                        fail_msg("a credential: %s", others[i]);
}

/*
 * A quarter of a megabyte of each prefix, repeated: with a linear search this is quick; otherwise
 * it takes minutes.
 */
static void
hostile_strings_cost_no_more(void **state)
{
        static const char *const units[] = { "a",       "sk-",  "eyJ-", "-eyJaaaaaaaaa.",
                                             "bearer ", "a://", "a:",   "-----BEGIN ",
                                             "e2b_0" };
        enum { LEN = 262144 };
        char *text = malloc(LEN + 16);

        (void)state;
        assert_non_null(text);
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
                size_t len = strlen(units[i]), used = 0;

                for (; used + len < LEN; used += len)
                        memcpy(text + used, units[i], len);
                text[used] = '\0';
                (void)credential_shape_find(text);
        }
        free(text);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(shapes_are_found_and_near_misses_are_not),
                cmocka_unit_test(keys_are_compared_without_case_and_joints),
                cmocka_unit_test(hostile_strings_cost_no_more),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
