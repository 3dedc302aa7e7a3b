/* spec/schema_test.c - the JSON Schema is complete, valid JSON, and agrees with the tables. */
#include "spec/schema.h"

#include <stdio.h>
#include <string.h>

#include "base/unit.h"
#include "spec/section.h"
#include "text/tree.h"

static const struct node *
schema_of(struct arena *arena, struct json_writer *w)
{
        const struct text_limits limits = { 1 << 20, 64, 65536 };
        const struct node *root;
        struct error e;

        json_init(w, true);
        spec_schema_write(w);
        assert_false(w->is_broken);
        if (json_read(arena, w->text, w->len, &limits, &root, &e) < 0)
                fail_msg("%s", e.message);
        return root;
}

static const struct node *
at(const struct node *n, const char *path)
{
        char step[64];

        while (*path) {
                size_t len = strcspn(path, "/");

                (void)snprintf(step, sizeof step, "%.*s", (int)len, path);
                n = n && n->kind == NODE_LIST ? node_at(n, (size_t)(step[0] - '0'))
                                              : node_find(n, step);
                path += len + (path[len] == '/');
        }
        return n;
}

static void
every_table_row_is_there(void **state)
{
        struct arena arena;
        struct json_writer w;
        const struct node *root;

        (void)state;
        arena_init(&arena, 8 << 20);
        root = schema_of(&arena, &w);
        for (size_t i = 0; i < block_set.count; i++)
                assert_non_null(node_find(node_find(root, "properties"), block_set.rows[i].name));
        assert_int_equal(at(root, "properties/limits/properties/timeout_ms/maximum")->integer,
                         9007199254740991);
        assert_int_equal(at(root, "properties/limits/properties/timeout_ms/default")->integer,
                         30000);
        assert_null(at(root, "properties/limits/properties/pids"));
        assert_null(at(root, "properties/limits/properties/timeoutMs"));
        assert_false(at(root, "properties/env/additionalProperties")->boolean);
        assert_int_equal(at(root, "properties/network/properties/egress/maxItems")->integer, 1024);
        assert_true(node_is_text(
                at(root, "properties/mounts/items/properties/source/anyOf/0/const"), "workspace"));
        assert_int_equal(at(root, "properties/identity/anyOf/1/minItems")->integer, 1);
        assert_true(at(root, "properties/lifecycle/properties/pause_after_idle_ms/deprecated")
                            ->boolean);
        assert_null(at(root, "properties/lifecycle/properties/pause_on"));
        assert_int_equal(at(root, "allOf")->len, 9);
        assert_true(node_is_text(at(root, "allOf/2/if/properties/provider/const"), "mastra-e2b"));
        assert_true(
                node_is_text(at(root, "allOf/2/then/properties/config/required/0"), "template"));
        assert_int_equal(at(root, "$defs/metadata.carrel/properties/limits/properties/pids/default")
                                 ->integer,
                         SPEC_PIDS);
        json_fini(&w);
        arena_fini(&arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(every_table_row_is_there) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
