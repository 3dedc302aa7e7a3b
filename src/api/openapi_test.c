/*
 * api/openapi_test.c - the document is valid JSON and has every operation.
 */
#include "api/openapi.h"

#include <string.h>

#include "api/operation.h"
#include "base/unit.h"

static void
it_has_every_operation(void **state)
{
        const struct text_limits wide = { .bytes_max = 4 << 20,
                                          .depth_max = 32,
                                          .nodes_max = 100000 };
        const struct node *root, *paths;
        const struct operation *o;
        struct json_writer w;
        struct arena arena;
        struct error e;
        size_t at = 0;

        json_init(&w, true);
        openapi_write(&w, "9.9.9");
        assert_false(w.is_broken);
        arena_init(&arena, 64 << 20);
        assert_int_equal(json_read(&arena, w.text, w.len, &wide, &root, &e), 0);
        assert_true(node_is_text(node_find(root, "openapi"), "3.1.0"));
        assert_true(node_is_text(node_find(node_find(root, "info"), "version"), "9.9.9"));
        paths = node_find(root, "paths");
        while ((o = operation_next(&at))) {
                char method[8] = "";

                if (!o->route)
                        continue;
                for (size_t i = 0; i < sizeof method - 1 && o->method[i]; i++)
                        method[i] = (char)(o->method[i] | 0x20);
                if (!node_is_text(
                            node_find(node_find(node_find(paths, o->route), method), "operationId"),
                            o->name))
                        fail_msg("%s %s", o->method, o->route);
        }
        arena_fini(&arena);
        json_fini(&w);
}

/* Facts that typed clients are generated from. Each of these was wrong once. */
static void
its_facts_are_right(void **state)
{
        static const char *const parts[] = {
                "{\"name\":\"wait\",\"in\":\"query\",\"required\":false,\"description\":\"true: "
                "answer when it has ended.\",\"schema\":{\"type\":\"boolean\"}}",
                "{\"name\":\"stream\",\"in\":\"query\",\"required\":false,",
                "\"enum\":[\"stdout\",\"stderr\"]",
                "\"enum\":[\"starting\",\"running\",\"ended\",\"failed\"]",
                "\"201\":{\"description\":\"With background: it was "
                "started.\",\"content\":{\"application/json\":{\"schema\":{\"$ref\":\"#/components/"
                "schemas/Exec\"}",
                "\"identifier\":\"Apache-2.0\"",
                "\"servers\":[{\"url\":\"http://127.0.0.1:{port}\"",
                "\"4XX\":{\"$ref\":\"#/components/responses/Refused\"}",
                "404: sandbox_not_configured, sandbox_not_found,",
                "\"text/event-stream\":{\"schema\":{\"$ref\":\"#/components/schemas/ExecStream\"}",
                "\"required\":[\"exec\",\"state\"]",
                "{\"name\":\"Idempotency-Key\",\"in\":\"header\",",
                "{\"name\":\"mode\",\"in\":\"query\",\"required\":false,",
                "{\"name\":\"path\",\"in\":\"query\",\"required\":true,",
                "\"truncated\":{\"description\":\"true: there is more",
        };
        struct json_writer w;

        (void)state;
        json_init(&w, false);
        openapi_write(&w, "1");
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
                if (!strstr(w.text, parts[i]))
                        fail_msg("without %s", parts[i]);
        json_fini(&w);
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(it_has_every_operation),
                                            cmocka_unit_test(its_facts_are_right) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
