/*
 * policy/authorise_test.c - what policy/authorise.h promises. The AIP-36 cases are in test/conform.
 */
#include "policy/authorise.h"

#include <string.h>

#include "base/unit.h"
#include "text/yaml.h"

static struct arena arena;
static struct findings findings;

#define LOCAL "providers: {local: {isolated: true, egress: closed, pause: false}}\n"

static bool counts_bytes; /* of a day */

static int
judge(const char *host, const char *block, const struct spec **ret, struct error *e)
{
        const struct node *tree = NULL;
        struct host_rules *rules = NULL;
        struct manifest m;
        struct spec *spec = NULL;

        arena_fini(&arena);
        arena_init(&arena, 8u << 20);
        findings_init(&findings, &arena);
        assert_int_equal(yaml_read(&arena, host, strlen(host), 1, &text_limits_manifest, &tree, e),
                         0);
        assert_int_equal(host_rules_read(&arena, tree, "operator://me", &rules, e), 0);
        rules->usage.egress_bytes = counts_bytes ? GRANT_USAGE_EACH : GRANT_USAGE_UNKNOWN;
        if (manifest_read(&arena, block, strlen(block), MANIFEST_BLOCK, MANIFEST_YAML, &m,
                          &findings, e) < 0 ||
            spec_read(&arena, &m, &spec, &findings, e) < 0)
                fail_msg("%s: %s", block, e->message);
        return authorise(&arena, spec, rules, 0, ret, &findings, e);
}

#define E2B "providers: {mastra-e2b: {isolated: true}}\n"
#define E2B_BLOCK                                                                                \
        "{provider: mastra-e2b, config: {template: t, api_key_ref: e2b-key}, env: {auth: {ref: " \
        "./SECRETS.md}}}"

struct refusal {
        const char *host, *block;
        enum error_code code;
        const char *path, *reason;
};

static const struct refusal refusals[] = {
        /* an empty host file lists no provider */
        { "{}", "{provider: local, config: {}}", ERROR_PROVIDER_UNKNOWN, "provider", "" },
        { LOCAL, "{provider: node-permission, config: {}}", ERROR_PROVIDER_UNKNOWN, "provider",
          "" },
        { "providers: {local: {}}", "{provider: local, config: {}}", ERROR_PROVIDER_UNTRUSTED,
          "provider", "" },
        /* egress */
        { LOCAL, "{provider: local, config: {}, network: {egress: [api.example.com]}}",
          ERROR_EGRESS_UNENFORCEABLE, "network/egress", "" },
        { "providers: {v: {isolated: true, egress: false}}", "{provider: v, config: {}}",
          ERROR_EGRESS_UNENFORCEABLE, "network/egress", "" },
        { "providers: {v: {isolated: true}}",
          "{provider: v, config: {}, network: {egress: [a.b.com, db.internal]}}",
          ERROR_EGRESS_NOT_PERMITTED, "network/egress/1", "private_name" },
        { "providers: {v: {isolated: true}}\nprivate_names: ['db.internal:5433']",
          "{provider: v, config: {}, network: {egress: ['db.internal:5432']}}",
          ERROR_EGRESS_NOT_PERMITTED, "network/egress/0", "private_name" },
        { "providers: {v: {isolated: true}}\nhost_ports: [5433]",
          "{provider: v, config: {}, network: {egress: [a.b.com]}, metadata: {carrel: {egress: "
          "{host_ports: [5433, 5432]}}}}",
          ERROR_EGRESS_NOT_PERMITTED, "metadata/carrel/egress/host_ports/1", "host_port" },
        { "providers: {v: {isolated: true}}\nprivate_names: ['*.internal.corp']\negress_allowed: "
          "['host.carrel.internal:5432']",
          "{provider: v, config: {}, metadata: {carrel: {egress: {host_ports: [5432]}}}}",
          ERROR_EGRESS_NOT_PERMITTED, "metadata/carrel/egress/host_ports/0", "host_port" },
        { "providers: {v: {isolated: true}}\nhost_ports: [5432]\negress_allowed: [a.b.com]",
          "{provider: v, config: {}, metadata: {carrel: {egress: {host_ports: [5432]}}}}",
          ERROR_EGRESS_NOT_PERMITTED, "metadata/carrel/egress/host_ports/0",
          "not_in_host_allowlist" },
        { "providers: {v: {isolated: true}}\negress_allowed: []",
          "{provider: v, config: {}, network: {egress: [a.b.com]}}", ERROR_EGRESS_NOT_PERMITTED,
          "network/egress/0", "not_in_host_allowlist" },
        { "providers: {v: {isolated: true}}\negress_allowed: ['a.b.com:443']",
          "{provider: v, config: {}, network: {egress: [a.b.com]}}", ERROR_EGRESS_NOT_PERMITTED,
          "network/egress/0", "not_in_host_allowlist" },
        /* secrets */
        { LOCAL,
          "{provider: local, config: {}, env: {auth: {ref: ./SECRETS.md, state: {env: [A_B]}}}}",
          ERROR_AUTH_UNRESOLVABLE, "env/auth/ref", "not_found" },
        { LOCAL "secrets: {./SECRETS.md: {slugs: [gh-app], bindings: {A_B: other}}}",
          "{provider: local, config: {}, env: {auth: {ref: ./SECRETS.md, state: {env: [GH_APP, "
          "A_B]}}}}",
          ERROR_AUTH_UNRESOLVABLE, "env/auth/state/env/1", "no_slug" },
        { LOCAL "secrets: {./SECRETS.md: {slugs: [gh-app], access: {gh-app: [{userId: you}]}}}",
          "{provider: local, config: {}, env: {auth: {ref: ./SECRETS.md, state: {env: [GH_APP]}}}}",
          ERROR_AUTH_UNRESOLVABLE, "env/auth/state/env/0", "bind_denied" },
        { LOCAL "secrets: {./SECRETS.md: {slugs: [gh-app], access: {gh-app: [{role: "
                "ops}]}}}\nactors: {'operator://me': {caps: [ops]}}",
          "{provider: local, config: {}, env: {auth: {ref: ./SECRETS.md, state: {env: [GH_APP]}}}}",
          ERROR_AUTH_UNRESOLVABLE, "env/auth/state/env/0", "bind_denied" },
        { LOCAL "secret_sources: [{environment: {gh-app: GH}}]\npassthrough_allow: [GH]",
          "{provider: local, config: {}, env: {passthrough: [GH]}}", ERROR_PASSTHROUGH_DENIED,
          "env/passthrough/0", "secret" },
        /* references of a provider */
        { E2B "secrets: {./SECRETS.md: {slugs: [e2b-key], deny_bind: [e2b-key]}}", E2B_BLOCK,
          ERROR_AUTH_UNRESOLVABLE, "config/api_key_ref", "bind_denied" },
        { E2B "secrets: {./SECRETS.md: {slugs: [e2b-key], access: {e2b-key: []}}}", E2B_BLOCK,
          ERROR_AUTH_UNRESOLVABLE, "config/api_key_ref", "bind_denied" },
        { E2B "secrets: {./SECRETS.md: {slugs: [e2b-key], reveal: false}}", E2B_BLOCK,
          ERROR_AUTH_UNRESOLVABLE, "env/auth/ref", "not_authorised" },
        /* mounts */
        { LOCAL, "{provider: local, config: {}, mounts: [{source: {ref: '@a/b'}, at: /w}]}",
          ERROR_MOUNT_UNRESOLVABLE, "mounts/0/source", "not_found" },
        { LOCAL "mountables: {'@a/b': ambiguous}",
          "{provider: local, config: {}, mounts: [{source: {ref: '@a/b'}, at: /w}]}",
          ERROR_MOUNT_UNRESOLVABLE, "mounts/0/source", "ambiguous_kind" },
        { LOCAL,
          "{provider: local, config: {}, mounts: [{source: {inline: {provider: cloud-bucket, "
          "config: {}}}, at: /w}]}",
          ERROR_MOUNT_UNRESOLVABLE, "mounts/0/source", "provider_no_mounts" },
        { LOCAL,
          "{provider: local, config: {}, mounts: [{source: {inline: {provider: local-fs, config: "
          "{}}}, at: /w}]}",
          ERROR_MOUNT_UNRESOLVABLE, "mounts/0/source", "not_found" },
        { LOCAL,
          "{provider: local, config: {}, mounts: [{source: {inline: {provider: local-fs, config: "
          "{path: /etc}}}, at: /w}]}",
          ERROR_MOUNT_DENIED, "mounts/0/source", "not_in_mount_roots" },
        { LOCAL "mount_roots: [/srv]",
          "{provider: local, config: {}, mounts: [{source: {inline: {provider: local-fs, config: "
          "{path: /srv/../etc}}}, at: /w}]}",
          ERROR_MOUNT_DENIED, "mounts/0/source", "not_in_mount_roots" },
        { LOCAL,
          "{provider: local, config: {}, mounts: [{source: {inline: {provider: dev-local, config: "
          "{path: data/../../x}}}, at: /w}]}",
          ERROR_MOUNT_DENIED, "mounts/0/source", "outside_workspace" },
        { LOCAL "workspace: null",
          "{provider: local, config: {}, mounts: [{source: {inline: {provider: dev-local, config: "
          "{path: data}}}, at: /w}]}",
          ERROR_MOUNT_UNRESOLVABLE, "mounts/0/source", "no_parent_workspace" },
        { "providers: {v: {isolated: true, mounts: false}}",
          "{provider: v, config: {}, mounts: [{source: workspace, at: /w}]}",
          ERROR_MOUNT_UNRESOLVABLE, "mounts/0/source", "provider_no_mounts" },
        { LOCAL "tool_roots: [/opt]",
          "{provider: local, config: {}, metadata: {carrel: {tools: [/opt/x, /root/.ssh]}}}",
          ERROR_MOUNT_DENIED, "metadata/carrel/tools/1", "not_in_tool_roots" },
        /* policy */
        { LOCAL, "{provider: local, config: {}, policy: '@a/unknown'}", ERROR_POLICY_UNRESOLVABLE,
          "policy", "" },
        { LOCAL,
          "{provider: local, config: {}, policy: [{inline: {default: allow}}, {ref: "
          "'@a/unknown'}]}",
          ERROR_POLICY_UNRESOLVABLE, "policy/1", "" },
        { LOCAL "policies: {'@a/p': {grants: []}}",
          "{provider: local, config: {}, policy: {ref: '@a/p'}}", ERROR_POLICY_DENIED, "policy",
          "sandbox:execute" },
        { LOCAL,
          "{provider: local, config: {}, policy: {grants: [{principal: 'operator://you', actions: "
          "['*']}]}}",
          ERROR_POLICY_DENIED, "policy", "sandbox:execute" },
};

static void
refuses_with_place_and_reason(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
                const struct refusal *r = &refusals[i];
                const struct spec *allowed = NULL;
                struct error e;

                if (judge(r->host, r->block, &allowed, &e) == 0)
                        fail_msg("permitted: %s", r->block);
                assert_null(allowed);
                if (e.code != r->code || strcmp(e.path, r->path) != 0 ||
                    strcmp(e.reason, r->reason) != 0)
                        fail_msg("%s: %s at %s, %s", r->block, error_wire_name(e.code), e.path,
                                 e.reason);
                if (e.code != ERROR_PROVIDER_UNKNOWN && e.code != ERROR_MOUNT_DENIED)
                        assert_true(e.line > 0);
        }
}

static const struct {
        const char *host, *block;
} permitted[] = {
        { LOCAL, "{provider: local, config: {}}" },
        { LOCAL "workspace: {}",
          "{provider: local, config: {}, mounts: [{source: workspace, at: /w}]}" },
        { LOCAL "mount_roots: [/srv]", "{provider: local, config: {}, mounts: [{source: {inline: "
                                       "{provider: local-fs, config: {path: /srv/a}}}, at: /w}]}" },
        { LOCAL, "{provider: local, config: {}, mounts: [{source: {inline: {provider: dev-local, "
                 "config: {path: data/in}}}, at: /w}]}" },
        { LOCAL "tool_roots: [/opt]",
          "{provider: local, config: {}, metadata: {carrel: {tools: [/opt/node]}}}" },
        { "providers: {v: {isolated: true}}\nprivate_names: [db.internal]",
          "{provider: v, config: {}, network: {egress: [db.internal]}}" },
        { "providers: {v: {isolated: true}}\nprivate_names: [db.internal]",
          "{provider: v, config: {}, network: {egress: ['db.internal:5432']}}" },
        { "providers: {v: {isolated: true}}\nhost_ports: [5432, 80]",
          "{provider: v, config: {}, metadata: {carrel: {egress: {host_ports: [80, 5432]}}}}" },
        { "providers: {v: {isolated: true}}\nhost_ports: [5432]\negress_allowed: "
          "['host.carrel.internal:5432']",
          "{provider: v, config: {}, metadata: {carrel: {egress: {host_ports: [5432]}}}}" },
        { "providers: {v: {isolated: true}}\negress_allowed: ['*.example.com']",
          "{provider: v, config: {}, network: {egress: ['*.a.example.com', b.example.com]}}" },
        { LOCAL "policies: {'@a/p': {grants: [{principal: 'operator://me', actions: "
                "['sandbox:execute']}]}}",
          "{provider: local, config: {}, policy: {ref: '@a/p'}}" },
        { "trust: trusted\nproviders: {v: {}}", "{provider: v, config: {}}" },
};

static void
permits_what_the_host_file_permits(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof permitted / sizeof permitted[0]; i++) {
                const struct spec *allowed = NULL;
                struct error e;

                if (judge(permitted[i].host, permitted[i].block, &allowed, &e) < 0)
                        fail_msg("%s: %s", permitted[i].block, e.message);
                assert_non_null(allowed);
        }
}

static void
finds_everything_at_once(void **state)
{
        const struct spec *allowed;
        struct error e;

        (void)state;
        assert_int_equal(judge(LOCAL "workspace: null",
                               "{provider: local, config: {}, network: {egress: [a.b.com]}, env: "
                               "{passthrough: [LD_PRELOAD, AWS_SECRET]},"
                               " mounts: [{source: workspace, at: /w}], policy: {grants: []}}",
                               &allowed, &e),
                         -1);
        assert_int_equal(e.code, ERROR_EGRESS_UNENFORCEABLE);
        assert_int_equal(findings.error_count, 6);
}

static void
narrows_in_a_copy(void **state)
{
        const struct spec *allowed;
        struct error e;

        (void)state;
        assert_int_equal(judge(LOCAL "mountables: {'@a/b': {read_only: true}}",
                               "{provider: local, config: {}, mounts: [{source: {ref: '@a/b'}, at: "
                               "/w}, {source: workspace, at: /x}],"
                               " lifecycle: {pause_after_idle: idle-60}}",
                               &allowed, &e),
                         0);
        assert_true(allowed->mounts[0].is_read_only);
        assert_false(allowed->mounts[1].is_read_only);
        assert_null(allowed->lifecycle.pause_event);
        assert_true(allowed->lifecycle.pause_idle_ms == SPEC_UNSET);
        assert_int_equal(findings.warning_count, 2);
        assert_string_equal(findings.warnings->name, "mount_mode_narrowed");
        assert_string_equal(findings.warnings->next->name, "lifecycle_ignored");
}

static void
the_smaller_cap_counts(void **state)
{
        const struct spec *allowed;
        struct error e;

        (void)state;
        assert_int_equal(
                judge("providers: {v: {isolated: true}}\negress_caps: {connections: 5, names: 9}",
                      "{provider: v, config: {}, metadata: {carrel: {egress: {connections: 6, "
                      "bytes_in: 3}}}}",
                      &allowed, &e),
                0);
        assert_int_equal(allowed->egress_caps.connections, 5);
        assert_int_equal(allowed->egress_caps.names, 9);
        assert_int_equal(allowed->egress_caps.bytes_in, 3);
        assert_true(allowed->egress_caps.bytes_out == SPEC_UNSET);
        assert_int_equal(findings.warning_count, 1);
        assert_string_equal(findings.warnings->name, "egress_cap_narrowed");
        assert_string_equal(findings.warnings->path, "metadata/carrel/egress/connections");
}

static void
asks_within_the_bounds_of_the_host(void **state)
{
        static const struct {
                const char *block, *path;
        } above[] = {
                { "{provider: v, config: {}, limits: {memory_mb: 2049}}", "limits/memory_mb" },
                { "{provider: v, config: {}, limits: {timeout_ms: 60001}}", "limits/timeout_ms" },
                { "{provider: v, config: {}, metadata: {carrel: {limits: {pids: 101}}}}",
                  "metadata/carrel/limits/pids" },
        };
        static const char host[] = "providers: {v: {isolated: true}}\nlimits_max: {memory_mb: "
                                   "2048, timeout_ms: 60000, pids: 100}";
        const struct spec *allowed;
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof above / sizeof above[0]; i++) {
                assert_int_equal(judge(host, above[i].block, &allowed, &e), -1);
                assert_int_equal(e.code, ERROR_POLICY_DENIED);
                assert_string_equal(e.path, above[i].path);
                assert_string_equal(e.reason, "limits_max");
        }
        assert_string_equal(e.message, "pids is 101, and this host permits at most 100");
        assert_string_equal(error_hint_text(&e), "Ask for 100 or less, or have the operator raise "
                                                 "limits_max.pids in the host file.");
        assert_int_equal(
                judge(host, "{provider: v, config: {}, limits: {memory_mb: 2048}}", &allowed, &e),
                0);
        assert_int_equal(allowed->limits.memory_mb, 2048);
        assert_int_equal(judge(host, "{provider: v, config: {}}", &allowed, &e), 0);
        assert_int_equal(allowed->limits.memory_mb, 2048); /* not requested: the maximum */
        assert_int_equal(allowed->limits.pids, 100); /* a manifest's default would be higher */
        assert_int_equal(allowed->limits.timeout_ms, 30000);
        assert_int_equal(allowed->limits.timeout_max_ms, 60000);
        assert_true(allowed->limits.cpu_ms == SPEC_UNSET);
}

static void
names_each_limit_it_cannot_hold(void **state)
{
        const struct spec *allowed;
        struct error e;

        (void)state;
        assert_int_equal(judge("providers: {v: {isolated: true, timeout: false, pids: false, io: "
                               "false, memory: false}}",
                               "{provider: v, config: {}, metadata: {carrel: {limits: {pids: 9, "
                               "io_read_bps: 1000000}}}}",
                               &allowed, &e),
                         0);
        assert_int_equal(findings.warning_count, 3);
        assert_string_equal(findings.warnings->name, "limit_unenforceable:timeout_ms");
        assert_string_equal(findings.warnings->next->name, "limit_unenforceable:pids");
        assert_string_equal(findings.warnings->next->next->path,
                            "metadata/carrel/limits/io_read_bps");
}

#define DAY(provider, egress, limits)                                                             \
        "{provider: " provider ", config: {}, network: {egress: [" egress "]}, policy: {inline: " \
        "{grants: [{principal: '*', actions: ['sandbox:*']}], limits: [" limits "]}}}"
#define DAY_LIMIT(max) "{kind: max-egress-bytes-per-day, max: " max "}"

static void
limits_a_day_where_its_bytes_are_counted(void **state)
{
        static const char host[] = "providers: {v: {isolated: true}, p: {isolated: true, egress: "
                                   "true, program: [/usr/bin/p]}}";
        static const struct {
                const char *block;
                bool counts;
                uint64_t max;
                const char *reason; /* NULL: allowed */
        } rows[] = {
                { DAY("v", "a.b.com", DAY_LIMIT("9") ", " DAY_LIMIT("7")), true, 7, NULL },
                { DAY("v", "", DAY_LIMIT("0")), true, 0, NULL },
                { DAY("v", "a.b.com", ""), true, SPEC_UNSET, NULL },
                { DAY("p", "", DAY_LIMIT("9")), true, 9, NULL },
                { DAY("p", "a.b.com", ""), true, SPEC_UNSET, NULL },
                { DAY("p", "a.b.com", DAY_LIMIT("9")), true, 0, "limit-exceeded" },
                { DAY("v", "a.b.com", DAY_LIMIT("9")), false, 0, "sandbox:execute" },
        };
        const struct spec *allowed;
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                int result;

                counts_bytes = rows[i].counts;
                result = judge(host, rows[i].block, &allowed, &e);
                counts_bytes = false;
                if ((result == 0) != !rows[i].reason ||
                    (result == 0 && allowed->egress_day_bytes != rows[i].max))
                        fail_msg("%s: %s", rows[i].block, e.message);
                if (rows[i].reason)
                        assert_string_equal(e.reason, rows[i].reason);
        }
}

/* Neither what a policy gives nor what it takes: the block says it all. */
static void
warns_that_defaults_of_a_policy_are_not_applied(void **state)
{
#define DEFAULTS(text)                                                                             \
        "{provider: v, config: {}, policy: {inline: {default: allow, defaults: " text ", grants: " \
        "[]}}}"
        const struct spec *allowed;
        struct error e;

        (void)state;
        assert_int_equal(judge("providers: {v: {isolated: true}}",
                               DEFAULTS("{sandbox: {network_egress: [a.b.com]}}"), &allowed, &e),
                         0);
        assert_string_equal(findings.warnings->name, "policy_defaults_ignored");
        assert_string_equal(findings.warnings->path, "policy/defaults");
        assert_int_equal(allowed->egress_count, 0);
        assert_int_equal(judge("providers: {v: {isolated: true}}", DEFAULTS("{}"), &allowed, &e),
                         0);
        for (const struct warning *w = findings.warnings; w; w = w->next)
                assert_string_not_equal(w->name, "policy_defaults_ignored");
}

static void
knows_names_that_must_not_pass(void **state)
{
        static const struct {
                const char *name;
                bool is_denied;
        } rows[] = {
                { "AWS_SECRET_ACCESS_KEY", true },
                { "npm_token", true },
                { "DB_PASSWORD", true },
                { "MY_CREDENTIALS", true },
                { "PRIVATE_X", true },
                { "MONKEY", true },
                { "LD_PRELOAD", true },
                { "ld_library_path", true },
                { "BASH_ENV", true },
                { "env", true },
                { "IFS", true },
                { "PYTHONSTARTUP", true },
                { "NODE_OPTIONS", true },
                { "GCONV_PATH", true },
                { "NODE_ENV", false },
                { "DEBUG", false },
                { "ENVIRONMENT", false },
                { "LD", false },
                { "BUILD_ID", false },
                { "", false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                if (authorise_name_is_denied(rows[i].name) != rows[i].is_denied)
                        fail_msg("%s", rows[i].name);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(refuses_with_place_and_reason),
                cmocka_unit_test(permits_what_the_host_file_permits),
                cmocka_unit_test(finds_everything_at_once),
                cmocka_unit_test(narrows_in_a_copy),
                cmocka_unit_test(the_smaller_cap_counts),
                cmocka_unit_test(asks_within_the_bounds_of_the_host),
                cmocka_unit_test(names_each_limit_it_cannot_hold),
                cmocka_unit_test(limits_a_day_where_its_bytes_are_counted),
                cmocka_unit_test(warns_that_defaults_of_a_policy_are_not_applied),
                cmocka_unit_test(knows_names_that_must_not_pass),
        };
        int failed = cmocka_run_group_tests(tests, NULL, NULL);

        arena_fini(&arena);
        return failed;
}
