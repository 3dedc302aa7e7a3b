/* policy/grant_test.c - what policy/grant.h promises. */
#include "policy/grant.h"

#include <stdio.h>
#include <string.h>

#include "base/unit.h"
#include "text/yaml.h"

enum { NOW = 1800000000 }; /* 2027-01-15T08:00:00Z */

struct verdict_case {
        const char *policies; /* YAML: a list of bodies */
        const char *action;
        bool is_allowed;
        const char *reason;
        const char *warning; /* NULL: none */
};

#define GRANT(rest) \
        "[{grants: [{principal: 'user://ann', actions: [{action: 'sandbox:execute'}]" rest "}]}]"

static const struct verdict_case cases[] = {
        /* the default */
        { "[]", "sandbox:execute", false, "no-grant", NULL },
        { "[{}]", "sandbox:execute", false, "no-grant", NULL },
        { "[{default: deny}]", "sandbox:execute", false, "no-grant", NULL },
        { "[{default: maybe}]", "sandbox:execute", false, "no-grant", NULL },
        { "[{default: allow}]", "sandbox:execute", true, "default-allow", "policy_default_allow" },
        { "[{default: allow}, {default: deny}]", "sandbox:execute", false, "no-grant",
          "policy_default_allow" },
        { "[{default: allow}, {}]", "sandbox:execute", false, "no-grant", "policy_default_allow" },
        /* who and what */
        { GRANT(""), "sandbox:execute", true, "matched-grant", NULL },
        { GRANT(""), "sandbox:network-egress", false, "no-grant", NULL },
        { "[{grants: [{principal: '*', actions: [{action: 'sandbox:*'}]}]}]",
          "sandbox:network-egress", true, "matched-grant", NULL },
        { "[{grants: [{principal: '*', actions: ['*']}]}]", "sandbox:execute", true,
          "matched-grant", NULL },
        { "[{grants: [{principal: 'user://bob', actions: ['*']}]}]", "sandbox:execute", false,
          "no-grant", NULL },
        { "[{grants: [{principal: ['user://bob', 'user://ann'], actions: ['*']}]}]",
          "sandbox:execute", true, "matched-grant", NULL },
        { "[{grants: [{actions: ['*']}]}]", "sandbox:execute", false, "no-grant", NULL },
        { "[{grants: [{principal: '*', actions: 'sandbox:execute'}]}]", "sandbox:execute", false,
          "no-grant", NULL },
        { "[{}, {grants: [{principal: '*', actions: ['sandbox:execute']}]}]", "sandbox:execute",
          true, "matched-grant", NULL },
        /* in force or not */
        { GRANT(", revoked: true"), "sandbox:execute", false, "explicit-revoke", NULL },
        { GRANT(", revoked: false"), "sandbox:execute", true, "matched-grant", NULL },
        { GRANT(", revoked: 'no'"), "sandbox:execute", false, "explicit-revoke", NULL },
        { GRANT(", ttl_seconds: 60"), "sandbox:execute", false, "ttl-expired", NULL },
        { GRANT(", ttl_seconds: 60, granted_at: '2027-01-15T07:59:01Z'"), "sandbox:execute", true,
          "matched-grant", NULL },
        { GRANT(", ttl_seconds: 60, granted_at: '2027-01-15T08:59:01+01:00'"), "sandbox:execute",
          true, "matched-grant", NULL },
        { GRANT(", ttl_seconds: 60, granted_at: '2027-01-15T07:59:00Z'"), "sandbox:execute", false,
          "ttl-expired", NULL },
        { GRANT(", ttl_seconds: 60, granted_at: '2027-01-15T08:00:01Z'"), "sandbox:execute", false,
          "ttl-expired", NULL },
        { GRANT(", ttl_seconds: 60, granted_at: 1799999990"), "sandbox:execute", true,
          "matched-grant", NULL },
        { GRANT(", ttl_seconds: 60, granted_at: yesterday"), "sandbox:execute", false,
          "ttl-expired", NULL },
        { GRANT(", ttl_seconds: -1, granted_at: 1799999990"), "sandbox:execute", false,
          "ttl-expired", NULL },
        { GRANT(", ttl_seconds: '60', granted_at: 1799999990"), "sandbox:execute", false,
          "ttl-expired", NULL },
        /* a condition that is not understood never permits */
        { GRANT(", conditions: [{kind: moon-phase}]"), "sandbox:execute", false, "condition-failed",
          "policy_condition_unsatisfied" },
        { GRANT(", conditions: []"), "sandbox:execute", true, "matched-grant", NULL },
        { GRANT(", conditions: 7"), "sandbox:execute", false, "condition-failed",
          "policy_condition_unsatisfied" },
        { GRANT(", effect: deny"), "sandbox:execute", false, "condition-failed",
          "policy_condition_unsatisfied" },
        { "[{grants: [{principal: '*', actions: [{action: '*', scope: {host: a.b}}]}]}]",
          "sandbox:execute", false, "condition-failed", "policy_condition_unsatisfied" },
        { "[{grants: [{principal: '*', actions: ['*']}], requirements: [{kind: mfa}]}]",
          "sandbox:execute", false, "requirement-failed", "policy_condition_unsatisfied" },
        { "[{default: allow, requirements: [{kind: mfa}]}]", "sandbox:execute", false,
          "requirement-failed", "policy_default_allow" },
        { "[{grants: [{principal: '*', actions: ['*']}], requirements: []}]", "sandbox:execute",
          true, "matched-grant", NULL },
        { "[{grants: [{principal: '*', actions: ['*']}], limits: [{kind: phases, max: 3}]}]",
          "sandbox:execute", false, "limit-exceeded", "policy_condition_unsatisfied" },
        /* limits: two sandboxes live, calls are not counted */
        { "[{grants: [{principal: '*', actions: ['*']}], limits: [{kind: max-concurrent-sandboxes, "
          "max: 3}]}]",
          "sandbox:execute", true, "matched-grant", NULL },
        { "[{grants: [{principal: '*', actions: ['*']}], limits: [{kind: max-concurrent-sandboxes, "
          "max: 2}]}]",
          "sandbox:execute", false, "limit-exceeded", NULL },
        { "[{grants: [{principal: '*', actions: ['*']}], limits: [{kind: rate-tool-calls, max: "
          "9}]}]",
          "sandbox:execute", false, "limit-exceeded", "policy_condition_unsatisfied" },
        { "[{grants: [{principal: '*', actions: ['*']}], limits: [{kind: max-concurrent-sandboxes, "
          "max: 3, tag: x}]}]",
          "sandbox:execute", false, "limit-exceeded", "policy_condition_unsatisfied" },
        { "[{grants: [{principal: '*', actions: ['*']}], limits: [{kind: max-egress-bytes-per-day, "
          "max: 1}]}]",
          "sandbox:execute", true, "matched-grant", NULL },
        { "[{grants: [{principal: '*', actions: ['*']}], limits: [7]}]", "sandbox:execute", false,
          "limit-exceeded", "policy_condition_unsatisfied" },
        /* an invalid grant does not disable a valid one */
        { "[{grants: [{principal: '*', actions: ['*'], revoked: true}, {principal: '*', actions: "
          "['*']}]}]",
          "sandbox:execute", true, "matched-grant", NULL },
        { "[{default: allow, grants: [{principal: '*', actions: ['*'], revoked: true}]}]",
          "sandbox:execute", false, "explicit-revoke", "policy_default_allow" },
};

static struct grant_decision
decide(struct arena *a, const struct verdict_case *c, struct findings *findings)
{
        const struct grant_request request = {
                "user://ann", c->action, NOW, { 2, GRANT_USAGE_UNKNOWN, 0 }
        };
        struct grant_policy policies[4];
        const struct node *root;
        struct error e;
        size_t count = 0;

        assert_int_equal(
                yaml_read(a, c->policies, strlen(c->policies), 1, &text_limits_manifest, &root, &e),
                0);
        node_each(body, root) policies[count++] = (struct grant_policy){ body, "policy" };
        return grant_decide(a, policies, count, &request, findings);
}

static void
decides_every_case(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct arena a;
                struct findings findings;
                struct grant_decision d;

                arena_init(&a, 1 << 20);
                findings_init(&findings, &a);
                d = decide(&a, &cases[i], &findings);
                if (d.is_allowed != cases[i].is_allowed || strcmp(d.reason, cases[i].reason) != 0)
                        fail_msg("%s: %s", cases[i].policies, d.reason);
                if (!cases[i].warning)
                        assert_int_equal(findings.warning_count, 0);
                else
                        assert_string_equal(findings.warnings->name, cases[i].warning);
                assert_string_equal(d.principal, "user://ann");
                assert_int_equal(d.evaluated_at_s, NOW);
                arena_fini(&a);
        }
}

static void
records_which_grant_decided(void **state)
{
        static const struct verdict_case named = {
                "[{grants: [{id: g7, principal: '*', actions: ['sandbox:execute']}]}]",
                "sandbox:execute", true, "", NULL
        };
        static const struct verdict_case unnamed = {
                "[{grants: [{principal: 'x', actions: ['*']}, {principal: '*', actions: ['*']}]}]",
                "sandbox:execute", true, "", NULL
        };
        struct arena a;
        struct findings findings;

        (void)state;
        arena_init(&a, 1 << 20);
        findings_init(&findings, &a);
        assert_string_equal(decide(&a, &named, &findings).grant_id, "g7");
        assert_string_equal(decide(&a, &unnamed, &findings).grant_id, "policy/grants/1");
        arena_fini(&a);
}

/* A caller that counts each call decides later; what is not understood is refused now. */
static void
leaves_limits_to_a_caller_that_counts(void **state)
{
        static const struct {
                const char *limit;
                bool is_allowed, counts_bytes;
        } rows[] = {
                { "limits: [{kind: rate-tool-calls, max: 0, per: minute}]", true },
                { "limits: [{kind: rate-tool-calls, max: 9}]", false },
                { "limits: [{kind: rate-tool-calls, max: 9, per: minute, tool: x}]", false },
                { "limits: [{kind: max-egress-bytes-per-day, max: 9}]", false },
                { "limits: [{kind: max-egress-bytes-per-day, max: 9}]", true, true },
                { "limits: [{kind: max-egress-bytes-per-day, max: 0}]", true, true },
                { "limits: [{kind: max-egress-bytes-per-day}]", false, true },
                { "limits: [{kind: max-egress-bytes-per-day, max: 9, host: x}]", false, true },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct grant_request request = {
                        "x",
                        "sandbox:execute",
                        NOW,
                        { 0, GRANT_USAGE_EACH,
                          rows[i].counts_bytes ? GRANT_USAGE_EACH : GRANT_USAGE_UNKNOWN }
                };
                struct grant_policy policy = { NULL, "policy" };
                struct arena a;
                struct findings findings;
                char text[200];
                struct error e;

                arena_init(&a, 1 << 20);
                findings_init(&findings, &a);
                (void)snprintf(text, sizeof text, "grants: [{principal: '*', actions: ['*']}]\n%s",
                               rows[i].limit);
                assert_int_equal(yaml_read(&a, text, strlen(text), 1, &text_limits_manifest,
                                           &policy.body, &e),
                                 0);
                if (grant_decide(&a, &policy, 1, &request, &findings).is_allowed !=
                    rows[i].is_allowed)
                        fail_msg("%s", text);
                arena_fini(&a);
        }
}

static void
denies_when_memory_runs_out(void **state)
{
        static const struct verdict_case open = { "[{grants: [{principal: '*', actions: ['*']}]}]",
                                                  "sandbox:execute", true, "", NULL };
        struct arena a;
        struct findings findings;

        (void)state;
        arena_init(&a, 1 << 20);
        findings_init(&findings, &a);
        assert_true(decide(&a, &open, &findings).is_allowed);
        (void)arena_alloc(&a, SIZE_MAX);
        {
                const struct node body = { .kind = NODE_MAP };
                const struct grant_policy policy = { &body, "policy" };
                const struct grant_request request = { "x", "y", NOW, { 0, 0, 0 } };

                assert_false(grant_decide(&a, &policy, 1, &request, &findings).is_allowed);
        }
        arena_fini(&a);
}

static void
matches_actions_by_suffix_only(void **state)
{
        static const struct {
                const char *pattern, *action;
                bool covers;
        } rows[] = {
                { "sandbox:execute", "sandbox:execute", true },
                { "sandbox:*", "sandbox:execute", true },
                { "*", "secrets:reveal", true },
                { "sandbox:*", "sandboxes:execute", false },
                { "sandbox:*", "sandbox:", false },
                { "sand*", "sandbox:execute", false },
                { "*:execute", "sandbox:execute", false },
                { "", "sandbox:execute", false },
                { "sandbox:exec*", "sandbox:execute", false },
                { "SANDBOX:EXECUTE", "sandbox:execute", false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                if (grant_action_covers(rows[i].pattern, rows[i].action) != rows[i].covers)
                        fail_msg("%s against %s", rows[i].pattern, rows[i].action);
}

static void
reads_rfc_3339(void **state)
{
        static const struct {
                const char *text;
                int64_t s;
        } good[] = {
                { "1970-01-01T00:00:00Z", 0 },
                { "2027-01-15T08:00:00Z", NOW },
                { "2000-02-29t12:30:15.75z", 951827415 },
                { "2026-12-31 23:59:60+00:00", 1798761600 },
                { "1969-12-31T23:00:00-01:00", 0 },
        };
        static const char *const bad[] = {
                "",
                "2027",
                "2027-01-15",
                "2027-13-01T00:00:00Z",
                "2027-02-29T00:00:00Z",
                "2027-01-15T24:00:00Z",
                "2027-01-15T08:00:00",
                "2027-01-15T08:00:00Zx",
                "2027-01-15T08:00:00.Z",
                "2027-01-15T08:00:00+1:00",
                "-027-01-15T08:00:00Z",
        };
        int64_t s;

        (void)state;
        for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
                assert_int_equal(grant_time_read(good[i].text, &s), 0);
                assert_int_equal(s, good[i].s);
        }
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
                if (grant_time_read(bad[i], &s) == 0)
                        fail_msg("\"%s\" was read", bad[i]);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(decides_every_case),
                cmocka_unit_test(records_which_grant_decided),
                cmocka_unit_test(leaves_limits_to_a_caller_that_counts),
                cmocka_unit_test(denies_when_memory_runs_out),
                cmocka_unit_test(matches_actions_by_suffix_only),
                cmocka_unit_test(reads_rfc_3339),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
