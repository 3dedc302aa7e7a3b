/* policy/host_provider_test.c - what policy/host_provider.h promises. */
#include "policy/host_provider.h"

#include <string.h>

#include "base/unit.h"
#include "text/yaml.h"

static const struct host_ability able = { .is_isolated = true, .egress = HOST_EGRESS_LISTED };

static void
keeps_the_registry_free_of_collisions(void **state)
{
        static const struct {
                const char *id;
                enum error_code code;
                const char *reason;
        } rows[] = {
                { "acme-vm", ERROR_NONE, "" },
                { "flyio-machines", ERROR_NONE, "" },
                { "acme-vm", ERROR_PROVIDER_CONFLICT, "duplicate" },
                { "ACME-VM", ERROR_PROVIDER_CONFLICT, "duplicate" },
                { "local", ERROR_PROVIDER_CONFLICT, "enumerated" },
                { "Local", ERROR_PROVIDER_CONFLICT, "enumerated" },
                { "mastra-e2b", ERROR_PROVIDER_CONFLICT, "enumerated" },
                { "NODE-PERMISSION", ERROR_PROVIDER_CONFLICT, "enumerated" },
                { "Acme", ERROR_SCHEMA_INVALID, "pattern" },
                { "", ERROR_SCHEMA_INVALID, "pattern" },
                { "-x", ERROR_SCHEMA_INVALID, "pattern" },
                { "a b", ERROR_SCHEMA_INVALID, "pattern" },
        };
        struct host_providers p = { .count = 0 };
        struct arena a;
        struct error e;

        (void)state;
        arena_init(&a, 1 << 16);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                int rc = host_provider_register(&p, &a, rows[i].id, &able, &e);

                assert_int_equal(rc, rows[i].code == ERROR_NONE ? 0 : -1);
                if (rc < 0) {
                        assert_int_equal(e.code, rows[i].code);
                        assert_string_equal(e.reason, rows[i].reason);
                }
        }
        assert_int_equal(p.count, 2);
        assert_non_null(host_provider_find(&p, "acme-vm"));
        assert_null(host_provider_find(&p, "ACME-VM"));
        arena_fini(&a);
}

static void
lets_only_the_host_describe_reserved_ids(void **state)
{
        struct host_providers p = { .count = 0 };
        struct arena a;
        struct error e;

        (void)state;
        arena_init(&a, 1 << 16);
        assert_int_equal(host_provider_describe(&p, &a, "local", &able, &e), 0);
        assert_int_equal(host_provider_describe(&p, &a, "local", &able, &e), -1);
        assert_string_equal(e.reason, "duplicate");
        assert_int_equal(host_provider_describe(&p, &a, "acme-vm", &able, &e), -1);
        assert_int_equal(host_provider_describe(&p, &a, "Mastra-E2B", &able, &e), -1);
        assert_null(host_provider_find(&p, "mastra-daytona"));
        arena_fini(&a);
}

static void
has_a_bound_on_its_size(void **state)
{
        struct host_providers p = { .count = 0 };
        struct arena a;
        struct error e;

        (void)state;
        arena_init(&a, 1 << 16);
        for (int i = 0; i < HOST_PROVIDERS_MAX; i++)
                assert_int_equal(
                        host_provider_register(&p, &a, arena_format(&a, "p%d", i), &able, &e), 0);
        assert_int_equal(host_provider_register(&p, &a, "one-more", &able, &e), -1);
        assert_int_equal(e.code, ERROR_QUOTA_EXCEEDED);
        arena_fini(&a);
}

static int
read_ability(struct arena *a, const char *text, struct host_ability *ret, struct error *e)
{
        const struct node *root;

        assert_int_equal(yaml_read(a, text, strlen(text), 1, &text_limits_manifest, &root, e), 0);
        return host_ability_read(a, root, "providers/x", ret, e);
}

static void
reads_abilities(void **state)
{
        struct host_ability can;
        struct arena a;
        struct error e;

        (void)state;
        arena_init(&a, 1 << 20);
        assert_int_equal(read_ability(&a, "{}", &can, &e), 0);
        assert_false(can.is_isolated); /* isolation must be stated */
        assert_true(can.caps_memory && can.can_pause && can.can_mount);
        assert_int_equal(can.egress, HOST_EGRESS_LISTED);
        assert_int_equal(read_ability(&a,
                                      "{isolated: true, memory: false, egress: closed, tier: T2}",
                                      &can, &e),
                         0);
        assert_true(can.is_isolated && !can.caps_memory && can.caps_time);
        assert_int_equal(can.egress, HOST_EGRESS_CLOSED);
        assert_string_equal(can.tier, "T2");
        assert_int_equal(read_ability(&a, "{egress: false}", &can, &e), 0);
        assert_int_equal(can.egress, HOST_EGRESS_NONE);
        assert_int_equal(read_ability(&a, "{isolated: 'yes'}", &can, &e), -1);
        assert_string_equal(e.reason, "type");
        assert_int_equal(read_ability(&a, "{isloated: true}", &can, &e), -1);
        assert_string_equal(e.reason, "unknown_field");
        assert_int_equal(read_ability(&a, "{egress: open}", &can, &e), -1);
        assert_int_equal(read_ability(&a, "{tier: T9}", &can, &e), -1);
        assert_int_equal(read_ability(&a, "[]", &can, &e), -1);
        arena_fini(&a);
}

static void
never_claims_more_than_the_machine_can(void **state)
{
        struct host_ability claimed, real = {
                .egress = HOST_EGRESS_CLOSED, .is_isolated = true, .caps_time = true, .tier = "T1"
        };
        struct arena a;
        struct error e;

        (void)state;
        arena_init(&a, 1 << 20);
        assert_int_equal(read_ability(&a, "{isolated: true, tier: T4}", &claimed, &e), 0);
        host_ability_bound(&claimed, &real);
        assert_true(claimed.is_isolated && claimed.caps_time);
        assert_false(claimed.caps_memory || claimed.can_pause || claimed.caps_disk);
        assert_int_equal(claimed.egress, HOST_EGRESS_CLOSED);
        assert_string_equal(claimed.tier, "T1");
        arena_fini(&a);
}

static void
names_every_ability(void **state)
{
        size_t count = 0;
        struct host_ability none = { .tier = NULL };

        (void)state;
        for (; host_ability_name(count); count++)
                assert_false(host_ability_has(&none, count));
        assert_int_equal(count, 12);
        assert_false(host_ability_has(&none, 99));
        assert_string_equal(host_egress_name(HOST_EGRESS_CLOSED), "closed");
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(keeps_the_registry_free_of_collisions),
                cmocka_unit_test(lets_only_the_host_describe_reserved_ids),
                cmocka_unit_test(has_a_bound_on_its_size),
                cmocka_unit_test(reads_abilities),
                cmocka_unit_test(never_claims_more_than_the_machine_can),
                cmocka_unit_test(names_every_ability),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
