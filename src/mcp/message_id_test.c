/*
 * mcp/message_id_test.c - the id of messages that cannot be read, whole and in pieces of every
 * length.
 */
#include "mcp/message_id.h"

#include <stdio.h>
#include <string.h>

#include "base/unit.h"
#include "text/json.h"

static const struct {
        const char *text, *id;
} rows[] = {
        { "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\\u0000\"}", "7" },
        { "{\"method\":\"tools/"
          "call\",\"params\":{\"id\":1,\"a\":[{\"id\":2}]},\"jsonrpc\":\"2.0\",\"id\":3}",
          "3" },
        { "{\"params\":{\"text\":\"\\ud800 \\\" \\\\\",\"id\":9},\"id\":\"a\\\"b\"}",
          "\"a\\\"b\"" },
        { " { \"id\" : -5 , \"text\" : \"}{][\\\"id\\\":4\" } ", "-5" },
        { "{\"a\":{\"b\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
          "},\"id\":1}",
          "1" },
        { "{\"text\":\"\xff\xfe\",\"id\":\"x\"}", "\"x\"" },
        { "{\"a\":1,\"a\":2,\"id\":12}", "12" },
        { "{\"id\":1,\"id\":2}", NULL },
        { "{\"id\":1,\"id\":\"1\"}", NULL },
        { "{\"id\":[1]}", NULL },
        { "{\"id\":{}}", NULL },
        { "{\"id\":null}", NULL },
        { "{\"id\":1.5}", NULL },
        { "{\"id\":\"\\u0000\"}", NULL },
        { "{\"id\":\"\\ud800\"}", NULL },
        { "{\"id\":1", NULL },
        { "{\"a\":\"id\",\"b\":1}", NULL },
        { "{\"a\":\"id\"}", NULL },
        { "{\"x\":{\"id\":1}}", NULL },
        { "[{\"id\":1}]", NULL },
        { "{\"id\":1}{\"id\":2}", NULL },
        { "{\"id\":1} x", NULL },
        { "7", NULL },
        { "", NULL },
        { "}", NULL },
};

static void
try_row(const char *text, const char *expected, size_t piece)
{
        struct mcp_id_scan scan = { 0 };
        const struct node *id;
        struct json_writer w;
        struct arena arena;

        for (size_t at = 0; at < strlen(text); at += piece)
                mcp_id_scan_put(&scan, text + at,
                                strlen(text) - at < piece ? strlen(text) - at : piece);
        arena_init(&arena, 1u << 16);
        id = mcp_id_scan_end(&scan, &arena);
        json_init(&w, false);
        if (id)
                json_node(&w, id);
        if ((id == NULL) != (expected == NULL) || (id && strcmp(w.text, expected) != 0))
                fail_msg("%s in pieces of %zu: %s, not %s", text, piece, id ? w.text : "no id",
                         expected ? expected : "none");
        json_fini(&w);
        arena_fini(&arena);
}

static void
test_rows(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                for (size_t piece = 1; piece < 40; piece++)
                        try_row(rows[i].text, rows[i].id, piece);
}

static void
test_long(void **state)
{
        char text[MCP_ID_MAX + 32], expected[MCP_ID_MAX + 32];

        (void)state;
        for (int len = MCP_ID_MAX - 6; len < MCP_ID_MAX + 6; len++) {
                (void)snprintf(text, sizeof text, "{\"id\":\"%0*d\"}", len - 2, 7);
                (void)snprintf(expected, sizeof expected, "\"%0*d\"", len - 2, 7);
                try_row(text, len <= MCP_ID_MAX ? expected : NULL, 100);
        }
}

int
main(void)
{
        static const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
                                                   cmocka_unit_test(test_long) };

        return cmocka_run_group_tests_name("mcp/message_id", tests, NULL, NULL);
}
