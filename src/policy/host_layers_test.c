/* policy/host_layers_test.c - what policy/host_layers.h promises. */
#include "policy/host_layers.h"

#include <string.h>

#include "base/unit.h"
#include "policy/host_fields.h"
#include "policy/host_rules.h"
#include "text/redact_group.h"
#include "text/yaml.h"

static struct arena arena;

static const struct node *
tree(const char *text)
{
        const struct node *root = NULL;
        struct error e;

        if (text)
                assert_int_equal(
                        yaml_read(&arena, text, strlen(text), 1, &text_limits_manifest, &root, &e),
                        0);
        return root;
}

static int
join(const char *machine, const char *users, struct host_rules **ret, struct error *e)
{
        const struct node *both;

        arena_fini(&arena);
        arena_init(&arena, 4u << 20);
        if (host_layers_join(&arena, tree(machine), tree(users), &both, e) < 0)
                return -1;
        return host_rules_read(&arena, both, "operator://me", ret, e);
}

static void
adds_to_the_built_in_rules(void **state)
{
        struct host_rules *r;
        struct error e;

        (void)state;
        assert_int_equal(join(NULL, "tool_roots: [/home/ann/.nvm]\n", &r, &e), 0);
        assert_int_equal(r->tool_roots.count, host_tool_roots.count + 1);
        assert_true(host_path_is_below(&r->tool_roots, "/opt/x"));
        assert_true(host_path_is_below(&r->tool_roots, "/home/ann/.nvm/v20"));
        assert_non_null(host_provider_find(&r->providers, "local"));
        assert_true(host_provider_find(&r->providers, "local")->can.is_isolated);
        assert_null(host_provider_find(&r->providers, "node-permission"));
        assert_false(r->is_trusted);
}

/* A file that stands alone has the providers of this build unless it names some. */
static void
adds_providers_to_a_file_that_names_none(void **state)
{
        static const struct {
                const char *text;
                bool is_added;
                size_t roots;
        } cases[] = {
                { "mount_roots: [/srv]\n", true, 1 },
                { "providers: {}\n", false, 0 },
                { "providers: {acme: {isolated: true}}\nmount_roots: [/srv]\n", false, 1 },
        };
        struct host_rules *r;
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const struct node *whole;
                bool is_added;

                arena_fini(&arena);
                arena_init(&arena, 4u << 20);
                assert_int_equal(
                        host_layer_complete(&arena, tree(cases[i].text), &whole, &is_added, &e), 0);
                assert_int_equal(is_added, cases[i].is_added);
                assert_int_equal(host_rules_read(&arena, whole, "operator://me", &r, &e), 0);
                assert_int_equal(host_provider_find(&r->providers, "local") != NULL, is_added);
                assert_null(host_provider_find(&r->providers, "node-permission"));
                assert_int_equal(r->mount_roots.count, cases[i].roots);
                assert_int_equal(r->tool_roots.count, 0);
        }
}

static void
joins_lists_and_unites_maps(void **state)
{
        struct host_rules *r;
        struct error e;

        (void)state;
        assert_int_equal(
                join("mount_roots: [/srv]\nmountables: {'@a/x': {path: /srv/x}}\nlimits_max: "
                     "{pids: 9}\nproviders: {acme: {isolated: true}}\n",
                     "mount_roots: [/home/ann/data]\nmountables: {'@a/y': {path: /y}}\n", &r, &e),
                0);
        assert_int_equal(r->mount_roots.count, 2);
        assert_int_equal(r->mountable_count, 2);
        assert_int_equal(r->limits.each.pids, 9);
        /* the machine's list of providers is complete */
        assert_null(host_provider_find(&r->providers, "local"));
}

static void
refuses_what_both_say(void **state)
{
        struct host_rules *r;
        struct error e;

        (void)state;
        assert_int_equal(join("mountables: {'@a/x': {path: /srv/x}}\n",
                              "mountables:\n  '@a/x': {path: /y}\n", &r, &e),
                         -1);
        assert_string_equal(e.reason, "duplicate");
        assert_int_equal(e.line, 2);
        assert_int_equal(join("secrets_file: /a\n", "secrets_file: /b\n", &r, &e), -1);
        assert_string_equal(e.reason, "duplicate");
}

/*
 * A user's file cannot set what limits others. A new field is refused there until its row permits
 * it.
 */
static void
a_users_file_only_permits(void **state)
{
        static const char *const machines[] = {
                "trust",          "principal",       "providers",
                "egress_allowed", "resolvers",       "denied_networks",
                "egress_caps",    "least_tier",      "limits_max",
                "sandboxes_max",  "execs_max",       "volumes_max",
                "workspace",      "actors",          "commands",
                "policies",       "registry",        "files",
                "siblings",       "approve",         "audit_executions",
                "risk",           "sanitize_output", "audit_files"
        };
        struct error e;
        size_t count = 0;

        (void)state;
        arena_fini(&arena);
        arena_init(&arena, 4u << 20);
        assert_int_equal(host_layer_check_users(tree("redact: {personal: true}\n"), &e), 0);
        assert_int_equal(host_layer_check_users(tree("redact: [false]\n"), &e), 0);
        assert_int_equal(host_layer_check_users(tree("host_ports: []\n"), &e), 0);
        assert_int_equal(
                host_layer_check_users(tree("redact:\n  financial: true\n  personal: false\n"), &e),
                -1);
        assert_string_equal(e.reason, "machine_only");
        assert_int_equal(e.line, 3);
        for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
                const char *text = arena_format(&arena, "mount_roots: []\n%s: {}\n", machines[i]);

                assert_int_equal(host_layer_check_users(tree(text), &e), -1);
                assert_string_equal(e.reason, "machine_only");
                assert_int_equal(e.line, 2);
        }
        for (int i = 0; i < HOST_FIELD_MAX; i++)
                count += host_field_is_users((enum host_field)i);
        assert_int_equal(count + sizeof machines / sizeof *machines, HOST_FIELD_MAX);
}

static void
a_users_file_switches_rules_on_alone(void **state)
{
        struct host_rules *r;
        struct error e;

        (void)state;
        assert_int_equal(join("redact: {personal: false, financial: false}\n", NULL, &r, &e), 0);
        assert_int_equal(r->redact_off, 1u << REDACT_personal | 1u << REDACT_financial);
        assert_int_equal(join("redact: {personal: false, financial: false}\n",
                              "redact: {personal: true}\n", &r, &e),
                         0);
        assert_int_equal(r->redact_off, 1u << REDACT_financial);
        assert_int_equal(join("redact: {credentials: true}\n", NULL, &r, &e), 0);
        assert_int_equal(r->redact_off, 0);
        assert_int_equal(join("redact: {credentials: false}\n", NULL, &r, &e), -1);
        assert_string_equal(e.reason, "required");
        assert_int_equal(join("redact: {jwt: false}\n", NULL, &r, &e), -1);
        assert_string_equal(e.reason, "unknown_field");
        assert_int_equal(join("redact: {personal: 0}\n", NULL, &r, &e), -1);
        assert_string_equal(e.reason, "type");
        assert_int_equal(join("redact: false\n", NULL, &r, &e), -1);
        assert_string_equal(e.reason, "type");
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(adds_to_the_built_in_rules),
                cmocka_unit_test(adds_providers_to_a_file_that_names_none),
                cmocka_unit_test(joins_lists_and_unites_maps),
                cmocka_unit_test(refuses_what_both_say),
                cmocka_unit_test(a_users_file_only_permits),
                cmocka_unit_test(a_users_file_switches_rules_on_alone),
        };

        int failed = cmocka_run_group_tests(tests, NULL, NULL);

        arena_fini(&arena);
        return failed;
}
