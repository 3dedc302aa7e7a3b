/* policy/host_rules_test.c - what policy/host_rules.h promises. */
#include "policy/host_rules.h"

#include <string.h>

#include "base/unit.h"
#include "text/yaml.h"

static struct arena arena;

static int
read_rules(const char *text, struct host_rules **ret, struct error *e)
{
        const struct node *root;

        arena_fini(&arena);
        arena_init(&arena, 4u << 20);
        assert_int_equal(yaml_read(&arena, text, strlen(text), 1, &text_limits_manifest, &root, e),
                         0);
        return host_rules_read(&arena, root, "operator://me", ret, e);
}

static void
permits_nothing_by_default(void **state)
{
        struct host_rules *r;
        struct error e;

        (void)state;
        assert_int_equal(read_rules("{}", &r, &e), 0);
        assert_false(r->is_trusted);
        assert_string_equal(r->principal, "operator://me");
        assert_int_equal(r->providers.count, 0);
        assert_int_equal(r->mount_roots.count + r->tool_roots.count + r->passthrough_allow.count,
                         0);
        assert_int_equal(r->inventory_count + r->mountable_count + r->policy_count, 0);
        assert_true(r->has_workspace);
        assert_true(r->egress_caps.connections == SPEC_UNSET &&
                    r->egress_caps.bytes_per_second == SPEC_UNSET);
        assert_true(r->usage.sandboxes == GRANT_USAGE_UNKNOWN);
}

static void
reads_every_field(void **state)
{
        static const char text[] =
                "trust: trusted\nprincipal: 'user://ann'\nproviders: {local: {isolated: true}, "
                "acme-vm: {pause: false}}\n"
                "egress_allowed: [api.example.com, '*.example.org']\nprivate_names: "
                "[db.internal]\nresolvers: ['127.0.0.1:5300', '[::1]:53']\ndenied_networks: "
                "[203.0.113.0/24]\nprivate_networks: [10.0.0.0/8, 'fd00::/8']\negress_caps: "
                "{connections: 100, bytes_in: 9}\n"
                "limits_max: {memory_mb: 2048, pids: 100}\nsandboxes_max: 5\nexecs_max: "
                "70\nvolumes_max: 0\npassthrough_allow: [NPM_TOKEN]\n"
                "workspace: {storage_read_only: true}\nsecrets_file: /etc/carrel/dev\nmount_roots: "
                "[/srv/data]\ntool_roots: [/opt, /usr/local/]\n"
                "secrets: {./SECRETS.md: {slugs: [a-b], bindings: {GH: gh-app}, deny_bind: [x-y], "
                "reveal: false}}\n"
                "mountables: {'@a/libs': {read_only: true, path: /srv/libs}, '@a/both': "
                "ambiguous}\n"
                "policies: {'@a/base': {default: allow}}\nregistry: {}\nfiles: {}\nsiblings: {}\n";
        const struct host_inventory *inventory;
        struct host_rules *r;
        struct error e;

        (void)state;
        assert_int_equal(read_rules(text, &r, &e), 0);
        assert_true(r->is_trusted && r->has_egress_list && r->storage_is_read_only);
        assert_string_equal(r->principal, "user://ann");
        assert_int_equal(r->providers.count, 2);
        assert_false(host_provider_find(&r->providers, "acme-vm")->can.can_pause);
        assert_int_equal(r->egress_allowed_count, 2);
        assert_int_equal(r->private_name_count, 1);
        assert_string_equal(r->resolvers.items[1], "[::1]:53");
        assert_int_equal(r->networks.count, 3);
        assert_string_equal(r->networks.items[0], "!203.0.113.0/24");
        assert_string_equal(r->networks.items[1], "10.0.0.0/8");
        assert_int_equal(r->egress_caps.connections, 100);
        assert_int_equal(r->egress_caps.bytes_in, 9);
        assert_true(r->egress_caps.names == SPEC_UNSET);
        assert_int_equal(r->limits.each.memory_mb, 2048);
        assert_int_equal(r->limits.each.pids, 100);
        assert_true(r->limits.each.disk_mb == SPEC_UNSET);
        assert_int_equal(r->limits.sandboxes, 5);
        assert_int_equal(r->limits.execs, 70);
        assert_int_equal(r->limits.volumes, 0);
        assert_string_equal(r->secrets_file, "/etc/carrel/dev");
        inventory = host_rules_inventory(r, "./SECRETS.md");
        assert_false(inventory->may_reveal);
        assert_string_equal(host_inventory_slug(inventory, &arena, "GH"), "gh-app");
        assert_string_equal(host_inventory_slug(inventory, &arena, "OPENAI_API_KEY"),
                            "openai-api-key");
        assert_true(host_names_have(&inventory->deny_bind, "x-y"));
        assert_true(host_rules_mountable(r, "@a/both")->is_ambiguous);
        assert_string_equal(host_rules_mountable(r, "@a/libs")->path, "/srv/libs");
        assert_null(host_rules_mountable(r, "@a/none"));
}

static void
refuses_what_it_does_not_know(void **state)
{
        static const struct {
                const char *text;
                enum error_code code;
                const char *reason;
        } rows[] = {
                { "trsut: trusted", ERROR_SCHEMA_INVALID, "unknown_field" },
                { "trust: yes", ERROR_SCHEMA_INVALID, "enum" },
                { "resolvers: ['127.0.0.1']", ERROR_SCHEMA_INVALID, "pattern" },
                { "resolvers: ['dns.example:53']", ERROR_SCHEMA_INVALID, "pattern" },
                { "resolvers: ['::1:53']", ERROR_SCHEMA_INVALID, "pattern" },
                { "resolvers: ['[127.0.0.1]:53']", ERROR_SCHEMA_INVALID, "pattern" },
                { "resolvers: ['127.0.0.1:65536']", ERROR_SCHEMA_INVALID, "pattern" },
                { "resolvers: ['127.0.0.1/8:53']", ERROR_SCHEMA_INVALID, "pattern" },
                { "private_networks: [10.0.0.1/8]", ERROR_SCHEMA_INVALID, "pattern" },
                { "private_networks: [intranet]", ERROR_SCHEMA_INVALID, "pattern" },
                { "private_networks: ['!10.0.0.0/8']", ERROR_SCHEMA_INVALID, "pattern" },
                { "denied_networks: ['!10.0.0.0/8']", ERROR_SCHEMA_INVALID, "pattern" },
                { "egress_caps: 5", ERROR_SCHEMA_INVALID, "type" },
                { "egress_caps: {connection: 5}", ERROR_SCHEMA_INVALID, "unknown_field" },
                { "egress_caps: {connections: 0}", ERROR_SCHEMA_INVALID, "range" },
                { "egress_caps: {connections: '5'}", ERROR_SCHEMA_INVALID, "range" },
                { "egress_caps: {names: 4097}", ERROR_SCHEMA_INVALID, "range" },
                { "limits_max: 5", ERROR_SCHEMA_INVALID, "type" },
                { "limits_max: {memory: 5}", ERROR_SCHEMA_INVALID, "unknown_field" },
                { "limits_max: {memoryMb: 5}", ERROR_SCHEMA_INVALID, "unknown_field" },
                { "limits_max: {memory_mb: 0}", ERROR_SCHEMA_INVALID, "range" },
                { "limits_max: {memory_mb: -1}", ERROR_SCHEMA_INVALID, "range" },
                { "limits_max: {memory_mb: '5'}", ERROR_SCHEMA_INVALID, "range" },
                { "limits_max: {pids: 4194305}", ERROR_SCHEMA_INVALID, "range" },
                { "sandbox_max: 5", ERROR_SCHEMA_INVALID, "unknown_field" },
                { "sandboxes_max: 0", ERROR_SCHEMA_INVALID, "range" },
                { "sandboxes_max: 4097", ERROR_SCHEMA_INVALID, "range" },
                { "execs_max: none", ERROR_SCHEMA_INVALID, "range" },
                { "volumes_max: -1", ERROR_SCHEMA_INVALID, "range" },
                { "volumes_max: 4097", ERROR_SCHEMA_INVALID, "range" },
                { "principal: '*'", ERROR_SCHEMA_INVALID, "type" },
                { "providers: [local]", ERROR_SCHEMA_INVALID, "type" },
                { "providers: {Local: {}}", ERROR_PROVIDER_CONFLICT, "enumerated" },
                { "providers: {Mastra-E2B: {}}", ERROR_PROVIDER_CONFLICT, "enumerated" },
                { "providers: {a: {}, A: {}}", ERROR_PROVIDER_CONFLICT, "duplicate" },
                { "providers: {a: {egres: true}}", ERROR_SCHEMA_INVALID, "unknown_field" },
                { "egress_allowed: ['*']", ERROR_EGRESS_INVALID, "wildcard" },
                { "egress_allowed: a.b", ERROR_SCHEMA_INVALID, "type" },
                { "passthrough_allow: [1]", ERROR_SCHEMA_INVALID, "type" },
                { "workspace: {read_only: true}", ERROR_SCHEMA_INVALID, "unknown_field" },
                { "workspace: yes", ERROR_SCHEMA_INVALID, "type" },
                { "secrets: {x: {slug: []}}", ERROR_SCHEMA_INVALID, "unknown_field" },
                { "secrets: {x: {reveal: 1}}", ERROR_SCHEMA_INVALID, "unknown_field" },
                { "mountables: {x: {path: relative}}", ERROR_SCHEMA_INVALID, "unknown_field" },
                { "mount_roots: [srv]", ERROR_SCHEMA_INVALID, "pattern" },
                { "mount_roots: [/srv/../etc]", ERROR_SCHEMA_INVALID, "pattern" },
                { "tool_roots: [/opt//x]", ERROR_SCHEMA_INVALID, "pattern" },
                { "policies: {x: allow}", ERROR_SCHEMA_INVALID, "type" },
                { "[]", ERROR_SCHEMA_INVALID, "type" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct host_rules *r;
                struct error e;

                if (read_rules(rows[i].text, &r, &e) == 0)
                        fail_msg("accepted: %s", rows[i].text);
                if (e.code != rows[i].code || strcmp(e.reason, rows[i].reason) != 0)
                        fail_msg("%s: %s %s", rows[i].text, error_wire_name(e.code), e.reason);
        }
}

static void
compares_paths_by_component(void **state)
{
        static const char *const items[] = { "/srv/data", "/opt/" };
        const struct spec_names roots = { items, 2 };
        const char *const slash = "/";
        static const struct {
                const char *path;
                bool is_below;
        } rows[] = {
                { "/srv/data", true },
                { "/srv/data/x/y", true },
                { "/srv/data/", true },
                { "/opt", true },
                { "/opt/a", true },
                { "/srv/database", false },
                { "/srv", false },
                { "/srv/data/../x", false },
                { "/srv/data/./x", false },
                { "/srv/data//x", false },
                { "srv/data", false },
                { "", false },
                { "/", false },
                { "/srv/data/..", false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                if (host_path_is_below(&roots, rows[i].path) != rows[i].is_below)
                        fail_msg("%s", rows[i].path);
        assert_true(host_path_is_below(&(struct spec_names){ &slash, 1 }, "/etc"));
}

static void
default_rules_know_the_standard_engine(void **state)
{
        const struct host_ability can = { .is_isolated = true, .egress = HOST_EGRESS_CLOSED };
        struct host_rules *r;
        struct error e;

        (void)state;
        arena_fini(&arena);
        arena_init(&arena, 1 << 20);
        assert_int_equal(host_rules_default(&arena, &can, "operator://me", &r, &e), 0);
        assert_false(r->is_trusted);
        assert_int_equal(r->providers.count, 4); /* those that this build runs */
        assert_non_null(host_provider_find(&r->providers, "local"));
        assert_non_null(host_provider_find(&r->providers, "container"));
        assert_null(host_provider_find(&r->providers, "node-permission"));
        assert_non_null(host_provider_find(&r->providers, "oci"));
        assert_non_null(host_provider_find(&r->providers, "microvm"));
        assert_false(host_path_is_below(&r->tool_roots, "/root/.ssh"));
        assert_false(host_path_is_below(&r->mount_roots, "/opt"));
}

static void
adds_an_inventory_under_the_hosts_word(void **state)
{
        static const char *const slugs[] = { "new-slug" };
        const struct host_inventory from_file = { .ref = "./SECRETS.md",
                                                  .slugs = { slugs, 1 },
                                                  .may_reveal = true };
        const struct host_inventory *merged;
        struct host_rules *r;
        struct error e;

        (void)state;
        assert_int_equal(read_rules("secrets: {./SECRETS.md: {slugs: [old-slug], deny_bind: "
                                    "[new-slug], reveal: false}, ./b: {}}",
                                    &r, &e),
                         0);
        assert_int_equal(host_rules_add_inventory(&arena, r, &from_file, &e), 0);
        assert_int_equal(r->inventory_count, 2);
        merged = host_rules_inventory(r, "./SECRETS.md");
        assert_true(host_names_have(&merged->slugs, "new-slug"));
        assert_false(host_names_have(&merged->slugs, "old-slug"));
        assert_true(host_names_have(&merged->deny_bind, "new-slug"));
        assert_false(merged->may_reveal);
}

static void
bounds_one_provider(void **state)
{
        const struct host_ability real = { .is_isolated = true, .egress = HOST_EGRESS_CLOSED };
        struct host_rules *r;
        struct error e;

        (void)state;
        assert_int_equal(read_rules("providers: {local: {isolated: true}, other: {}}", &r, &e), 0);
        host_rules_bound(r, &real);
        assert_false(host_provider_find(&r->providers, "local")->can.caps_memory);
        assert_true(host_provider_find(&r->providers, "other")->can.caps_memory);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(permits_nothing_by_default),
                cmocka_unit_test(reads_every_field),
                cmocka_unit_test(refuses_what_it_does_not_know),
                cmocka_unit_test(compares_paths_by_component),
                cmocka_unit_test(default_rules_know_the_standard_engine),
                cmocka_unit_test(adds_an_inventory_under_the_hosts_word),
                cmocka_unit_test(bounds_one_provider),
        };
        int failed = cmocka_run_group_tests(tests, NULL, NULL);

        arena_fini(&arena);
        return failed;
}
