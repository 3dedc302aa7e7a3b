/*
 * policy/rate_test.c - limits on the rate of calls, as they are written.
 */
#include "policy/rate.h"

#include <string.h>

#include "base/unit.h"
#include "text/yaml.h"

static void
limits_are_read(void **state)
{
        static const struct {
                const char *text;
                uint64_t max, period_ms; /* period_ms 0: not understood */
        } rows[] = {
                { "{kind: rate-tool-calls, max: 60, per: minute}", 60, 60000 },
                { "{kind: rate-tool-calls, count: 0, per: second, id: x}", 0, 1000 },
                { "{kind: rate-tool-calls, limit: 1, per: hour, description: y}", 1, 3600000 },
                { "{kind: rate-tool-calls, value: 5, per: day}", 5, 86400000 },
                { "{kind: rate-tool-calls, max: 60}", 0, 0 },
                { "{kind: rate-tool-calls, per: minute}", 0, 0 },
                { "{kind: rate-tool-calls, max: 60, per: week}", 0, 0 },
                { "{kind: rate-tool-calls, max: -1, per: day}", 0, 0 },
                { "{kind: rate-tool-calls, max: '5', per: day}", 0, 0 },
                { "{kind: rate-tool-calls, max: 5, count: 6, per: day}", 0, 0 },
                { "{kind: rate-tool-calls, max: 5, per: day, tool: shell}", 0, 0 },
                { "{kind: max-concurrent-sandboxes, max: 5, per: day}", 0, 0 },
                { "{max: 5, per: day}", 0, 0 },
                { "{kind: rate-tool-calls, max: 5, per: day, scope: user}", 5, 86400000 },
                { "{kind: rate-tool-calls, max: 5, per: day, scope: org}", 0, 0 },
                { "{kind: rate-tool-calls, max: 5, per: day, applies_to: []}", 5, 86400000 },
                { "{kind: rate-tool-calls, max: 5, per: day, applies_to: ['secrets:reveal', "
                  "'sandbox:execute']}",
                  5, 86400000 },
                { "{kind: rate-tool-calls, max: 5, per: day, applies_to: ['secrets:*']}", 0, 0 },
                { "{kind: rate-tool-calls, max: 5, per: day, applies_to: 'sandbox:execute'}", 0,
                  0 },
        };
        const struct node *limit;
        struct spec_rate rate;
        struct arena arena;
        struct error e;

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                arena_init(&arena, 1 << 20);
                assert_int_equal(yaml_read(&arena, rows[i].text, strlen(rows[i].text), 1,
                                           &text_limits_manifest, &limit, &e),
                                 0);
                if ((rate_read(limit, &rate) == 0) != (rows[i].period_ms != 0))
                        fail_msg("%s", rows[i].text);
                if (rows[i].period_ms != 0)
                        assert_true(rate.max == rows[i].max && rate.period_ms == rows[i].period_ms);
                arena_fini(&arena);
        }
}

static void
all_limits_are_collected(void **state)
{
        static const char body[] = "limits: [{kind: rate-tool-calls, max: 1, per: day}, "
                                   "{kind: other}, {kind: rate-tool-calls, max: 2, per: hour}]";
        struct spec_rate items[SPEC_RATES_MAX];
        size_t count = 0;
        const struct node *root;
        struct arena arena;
        struct error e;

        arena_init(&arena, 1 << 20);
        assert_int_equal(
                yaml_read(&arena, body, sizeof body - 1, 1, &text_limits_manifest, &root, &e), 0);
        assert_int_equal(rate_collect(root, items, &count), 0);
        assert_int_equal(count, 2);
        for (int i = 0; i < 3; i++)
                assert_int_equal(rate_collect(root, items, &count), 0);
        assert_int_equal(rate_collect(root, items, &count), -1);
        arena_fini(&arena);
}

static void
the_least_limit_on_a_day_counts(void **state)
{
        static const struct {
                const char *text;
                uint64_t max; /* SPEC_UNSET: not understood */
        } rows[] = {
                { "limits: [{kind: max-egress-bytes-per-day, max: 60}]", 60 },
                { "limits: [{kind: max-egress-bytes-per-day, value: 0, id: x}]", 0 },
                { "limits: [{kind: max-egress-bytes-per-day, max: 9}, {kind: other, max: 1}, "
                  "{kind: max-egress-bytes-per-day, limit: 7}]",
                  7 },
                { "limits: [{kind: max-egress-bytes-per-day, value: 5, scope: user, applies_to: "
                  "['sandbox:network-egress']}]",
                  5 },
                { "limits: [{kind: max-egress-bytes-per-day, value: 5, applies_to: ['*']}]", 5 },
                { "limits: [{kind: max-egress-bytes-per-day, value: 5, applies_to: "
                  "['sandbox:execute']}]",
                  SPEC_UNSET },
                { "limits: [{kind: max-egress-bytes-per-day, value: 5, scope: workspace}]",
                  SPEC_UNSET },
                { "limits: [{kind: max-egress-bytes-per-day}]", SPEC_UNSET },
                { "limits: [{kind: max-egress-bytes-per-day, max: -1}]", SPEC_UNSET },
                { "limits: [{kind: max-egress-bytes-per-day, max: '1'}]", SPEC_UNSET },
                { "limits: [{kind: max-egress-bytes-per-day, max: 1, per: day}]", SPEC_UNSET },
                { "limits: [{kind: max-egress-bytes-per-day, max: 1, host: x}]", SPEC_UNSET },
                { "limits: {kind: max-egress-bytes-per-day, max: 1}", SPEC_UNSET },
                { "{}", SPEC_UNSET },
        };
        const struct node *root;
        struct arena arena;
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                uint64_t max = SPEC_UNSET;

                arena_init(&arena, 1 << 20);
                assert_int_equal(yaml_read(&arena, rows[i].text, strlen(rows[i].text), 1,
                                           &text_limits_manifest, &root, &e),
                                 0);
                rate_day_bytes_collect(root, &max);
                if (max != rows[i].max)
                        fail_msg("%s", rows[i].text);
                arena_fini(&arena);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(limits_are_read),
                cmocka_unit_test(all_limits_are_collected),
                cmocka_unit_test(the_least_limit_on_a_day_counts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
