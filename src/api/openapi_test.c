/*
 * api/openapi_test.c - the document is JSON, and has every operation.
 */
#include "api/openapi.h"

#include <string.h>

#include "api/operation.h"
#include "base/unit.h"

static void
every_operation_stands_in_it(void **state)
{
        const struct text_limits wide = { .bytes_max = 4 << 20, .depth_max = 32, .nodes_max = 100000 };
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
                if (!node_is_text(node_find(node_find(node_find(paths, o->route), method), "operationId"), o->name))
                        fail_msg("%s %s", o->method, o->route);
        }
        arena_fini(&arena);
        json_fini(&w);
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(every_operation_stands_in_it) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
