/*
 * policy/choose_test.c - what policy/choose.h promises, through authorise().
 */
#include "policy/choose.h"

#include <string.h>

#include "base/unit.h"
#include "policy/authorise.h"
#include "spec/provider.h"
#include "text/yaml.h"

static struct arena arena;
static struct findings findings;

#define ALL                                                                                      \
        "providers: {local: {isolated: true}, container: {isolated: true}, oci: {isolated: "     \
        "true}, microvm: {isolated: true}, mastra-e2b: {isolated: true}, far: {isolated: true, " \
        "tier: T4}}\n"
#define CONTAINERS "providers: {local: {isolated: true}, oci: {isolated: true}}\n"
#define IMAGE "config: {image: 'box:1'}"

struct row {
        const char *host, *block;
        const char *chosen; /* NULL: refused */
        const char *says;   /* in `choice`, or in the error */
        const char *lacks;  /* what the machine lacks for oci */
};

static const struct row rows[] = {
        { ALL, "{provider: auto, config: {}}", "local", "the cheapest that fits", NULL },
        { ALL, "{provider: auto, " IMAGE "}", "container", "local: it has no config.image", NULL },
        { ALL, "{provider: auto, config: {user: root, image: 'box:1'}}", "container", "", NULL },
        { ALL, "{provider: auto, config: {}, metadata: {carrel: {tier: T2}}}", NULL,
          "local: tier T1; container: it needs config.image; oci: tier T1; microvm: it needs",
          NULL },
        { ALL "least_tier: T2\n", "{provider: auto, " IMAGE "}", "container",
          "reaches T2 (local: tier T1)", NULL },
        { ALL "least_tier: T1\n", "{provider: auto, " IMAGE ", metadata: {carrel: {tier: T3}}}",
          "microvm", "reaches T3 (local: tier T1; container: tier T2; oci: tier T2)", NULL },
        { CONTAINERS, "{provider: auto, " IMAGE ", metadata: {carrel: {tier: T2}}}", "oci",
          "container: the host file does not have it", NULL },
        /* never one elsewhere, and never one that is too weak */
        { ALL, "{provider: auto, config: {}, metadata: {carrel: {tier: T4}}}", NULL,
          "container: tier T2; oci: tier T1; microvm: tier T3", NULL },
        { ALL "least_tier: T3\n", "{provider: auto, config: {}, metadata: {carrel: {tier: T2}}}",
          NULL, "reaches T3", NULL },
        { CONTAINERS, "{provider: auto, " IMAGE ", metadata: {carrel: {tier: T2}}}", NULL,
          "oci: only root", "only root" },
        { "providers: {local: {isolated: true}}",
          "{provider: auto, config: {}, metadata: {carrel: {tier: T2}}}", NULL,
          "container: the host file does not have it", NULL },
        { "providers: {local: {}, container: {isolated: true}}", "{provider: auto, config: {}}",
          NULL, "local: it does not isolate here", NULL },
        { "providers: {local: {isolated: true, egress: closed}}",
          "{provider: auto, config: {}, network: {egress: [a.b.com]}}", NULL,
          "local: it cannot open the network", NULL },
        /* no step down: one that is named is refused by either least tier */
        { ALL, "{provider: local, config: {}, metadata: {carrel: {tier: T2}}}", NULL,
          "\"local\" has tier T1, and T2 is the least tier", NULL },
        { ALL "least_tier: T2\n", "{provider: local, config: {}}", NULL,
          "T2 is the least tier of this host", NULL },
        { ALL "least_tier: T2\n", "{provider: local, config: {}, metadata: {carrel: {tier: T1}}}",
          NULL, "T2 is the least tier of this host", NULL },
        { ALL "least_tier: T2\n", "{provider: container, " IMAGE "}", "container", NULL, NULL },
        { "providers: {local: {isolated: true, tier: T4}}\nleast_tier: T4\n",
          "{provider: local, config: {}}", NULL, "has tier T1", NULL },
};

static int
judge(const struct row *row, const struct spec **ret, struct error *e)
{
        const struct node *tree = NULL;
        struct host_rules *rules = NULL;
        struct manifest m;
        struct spec *spec = NULL;

        arena_fini(&arena);
        arena_init(&arena, 8u << 20);
        findings_init(&findings, &arena);
        assert_int_equal(
                yaml_read(&arena, row->host, strlen(row->host), 1, &text_limits_manifest, &tree, e),
                0);
        if (host_rules_read(&arena, tree, "operator://me", &rules, e) < 0)
                fail_msg("%s: %s", row->host, e->message);
        for (size_t i = 0; row->lacks && i < rules->providers.count; i++)
                if (strcmp(rules->providers.items[i].id, "oci") == 0)
                        rules->providers.items[i].lacks = row->lacks;
        if (manifest_read(&arena, row->block, strlen(row->block), MANIFEST_BLOCK, MANIFEST_YAML, &m,
                          &findings, e) < 0 ||
            spec_read(&arena, &m, &spec, &findings, e) < 0)
                fail_msg("%s: %s", row->block, e->message);
        return authorise(&arena, spec, rules, 0, ret, &findings, e);
}

static void
the_cheapest_that_fits(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct row *row = &rows[i];
                const struct spec *spec = NULL;
                struct error e;
                int result = judge(row, &spec, &e);

                if ((result == 0) != (row->chosen != NULL))
                        fail_msg("%s: %s", row->block, result < 0 ? e.message : spec->provider);
                if (result == 0) {
                        assert_string_equal(spec->provider, row->chosen);
                        assert_true(row->says ? spec->choice && strstr(spec->choice, row->says)
                                              : !spec->choice);
                } else if (!strstr(e.message, row->says)) {
                        fail_msg("%s: %s", row->block, e.message);
                } else {
                        assert_true(e.code == ERROR_PROVIDER_UNTRUSTED ||
                                    (e.code == ERROR_CAPABILITY_UNAVAILABLE &&
                                     strcmp(e.reason, "no_kind") == 0));
                }
        }
        arena_fini(&arena);
}

/* Every setting of a provider with a cost that the union lacks would exclude that provider. */
static void
settings_of_the_union(void **state)
{
        const struct row unknown = { ALL, "{provider: auto, config: {}}", "local", "", NULL };
        const struct spec *spec = NULL;
        unsigned costs = 0;
        struct error e;

        (void)state;
        assert_int_equal(judge(&unknown, &spec, &e), 0);
        for (size_t i = 0; i < provider_count; i++) {
                const struct provider *p = &providers[i];

                if (p->cost == 0)
                        continue;
                assert_true(p->tier && p->cost < 32 && (costs & 1u << p->cost) == 0);
                assert_true(p->engine != PROVIDER_ENGINE_BRIDGE && !p->interpreter);
                costs |= 1u << p->cost;
        }
        arena_fini(&arena);
}

/* A host file cannot make it a provider. */
static void
it_is_not_registered(void **state)
{
        static const char *const texts[] = { "providers: {auto: {isolated: true}}",
                                             "providers: {AUTO: {isolated: true}}" };
        const struct node *tree = NULL;
        struct host_rules *rules = NULL;
        struct error e;

        (void)state;
        arena_init(&arena, 8u << 20);
        for (size_t i = 0; i < 2; i++) {
                assert_int_equal(yaml_read(&arena, texts[i], strlen(texts[i]), 1,
                                           &text_limits_manifest, &tree, &e),
                                 0);
                assert_int_equal(host_rules_read(&arena, tree, "operator://me", &rules, &e), -1);
                assert_int_equal(e.code, ERROR_PROVIDER_CONFLICT);
        }
        arena_fini(&arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_cheapest_that_fits),
                cmocka_unit_test(settings_of_the_union),
                cmocka_unit_test(it_is_not_registered),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
