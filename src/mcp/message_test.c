/*
 * mcp/message_test.c - the era of a message, and which messages are refused before their method is
 * used.
 */
#include "mcp/message.h"

#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

#define META                                    \
        "\"_meta\":{\"io.modelcontextprotocol/" \
        "protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define LIST "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}"
#define CALL                                                \
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/" \
        "call\",\"params\":{\"name\":\"exec\"," META "}}"

enum { LEGACY = 0, MODERN = 1 };

struct row {
        const char *text;
        bool is_http;
        const char *version, *method, *name;
        int code, status; /* 0: accepted */
        int era;
};

static const struct row rows[] = {
        /* shape */
        { "", false, NULL, NULL, NULL, MCP_PARSE_ERROR, 400, 0 },
        { "{", false, NULL, NULL, NULL, MCP_PARSE_ERROR, 400, 0 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", false, NULL, NULL, NULL,
          MCP_PARSE_ERROR, 400, 0 },
        { "[]", false, NULL, NULL, NULL, MCP_INVALID_REQUEST, 400, 0 },
        { "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", true, NULL, NULL, NULL,
          MCP_INVALID_REQUEST, 400, 0 },
        { "7", false, NULL, NULL, NULL, MCP_INVALID_REQUEST, 400, 0 },
        { "{\"id\":1,\"method\":\"ping\"}", false, NULL, NULL, NULL, MCP_INVALID_REQUEST, 400, 0 },
        { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", false, NULL, NULL, NULL,
          MCP_INVALID_REQUEST, 400, 0 },
        { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", false, NULL, NULL, NULL,
          MCP_INVALID_REQUEST, 400, 0 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", false, NULL, NULL, NULL,
          MCP_INVALID_REQUEST, 400, 0 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", false, NULL, NULL, NULL,
          MCP_INVALID_REQUEST, 400, 0 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", false, NULL, NULL,
          NULL, MCP_INVALID_REQUEST, 400, 0 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":7}}", false,
          NULL, NULL, NULL, MCP_INVALID_PARAMS, 400, 0 },
        { "{\"jsonrpc\":\"2.0\",\"id\":1}", false, NULL, NULL, NULL, MCP_INVALID_REQUEST, 400, 0 },
        /* legacy */
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", false, NULL, NULL, NULL, 0, 0,
          LEGACY },
        { "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}", true, "2025-11-25", NULL, NULL,
          0, 0, LEGACY },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", true, NULL, NULL, NULL, 0, 0,
          LEGACY },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", true, "2024-01-01", NULL, NULL,
          MCP_SERVER_ERROR, 400, LEGACY },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", true, "1999-01-01", NULL,
          NULL, 0, 0, LEGACY },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", true, MCP_MODERN, NULL, NULL,
          MCP_HEADER_MISMATCH, 400, LEGACY },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", true, MCP_MODERN,
          "tools/list", NULL, MCP_INVALID_PARAMS, 400, LEGACY },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
          "list\",\"params\":{\"_meta\":{\"a\":1}}}",
          true, MCP_MODERN, NULL, NULL, MCP_INVALID_PARAMS, 400, LEGACY },
        { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", true, "2025-06-18",
          NULL, NULL, 0, 0, LEGACY },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", true, NULL, NULL, NULL, 0, 0, LEGACY },
        /* modern, over stdio */
        { LIST, false, NULL, NULL, NULL, 0, 0, MODERN },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
          "list\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
          "protocolVersion\":\"2026-07-28\"}}}",
          false, NULL, NULL, NULL, MCP_INVALID_PARAMS, 400, MODERN },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
          "list\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":7,"
          "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
          false, NULL, NULL, NULL, MCP_INVALID_PARAMS, 400, MODERN },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
          "list\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
          "protocolVersion\":\"2027-01-01\","
          "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
          false, NULL, NULL, NULL, MCP_UNSUPPORTED_VERSION, 400, MODERN },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
          "list\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
          "protocolVersion\":\"2025-11-25\","
          "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
          false, NULL, NULL, NULL, MCP_UNSUPPORTED_VERSION, 400, MODERN },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{" META "}}", false,
          NULL, NULL, NULL, 0, 0, MODERN },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"_meta\":{\"io."
          "modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
          false, NULL, NULL, NULL, 0, 0, LEGACY },
        /* modern, over HTTP: the headers are present and agree */
        { LIST, true, MCP_MODERN, "tools/list", NULL, 0, 0, MODERN },
        { LIST, true, NULL, "tools/list", NULL, MCP_HEADER_MISMATCH, 400, MODERN },
        { LIST, true, MCP_MODERN, NULL, NULL, MCP_HEADER_MISMATCH, 400, MODERN },
        { LIST, true, MCP_MODERN, "tools/call", NULL, MCP_HEADER_MISMATCH, 400, MODERN },
        { LIST, true, "2025-11-25", "tools/list", NULL, MCP_HEADER_MISMATCH, 400, MODERN },
        { CALL, true, MCP_MODERN, "tools/call", "exec", 0, 0, MODERN },
        { CALL, true, MCP_MODERN, "tools/call", NULL, MCP_HEADER_MISMATCH, 400, MODERN },
        { CALL, true, MCP_MODERN, "tools/call", "exec2", MCP_HEADER_MISMATCH, 400, MODERN },
        { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}", true, MCP_MODERN,
          "notifications/cancelled", NULL, 0, 0, MODERN },
        { "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}", true, MCP_MODERN,
          "notifications/other", NULL, MCP_HEADER_MISMATCH, 400, MODERN },
};

static void
try_row(const struct row *row)
{
        struct mcp_headers headers = { row->is_http, row->version, row->method, row->name };
        struct mcp_message m;
        struct mcp_refusal why = { 0 };
        struct arena arena;
        int result;

        arena_init(&arena, 1u << 20);
        result = mcp_message_read(&arena, row->text, strlen(row->text), &headers, &m, &why);
        if ((result == 0) != (row->code == 0) || why.code != row->code || why.status != row->status)
                fail_msg("%s: %d, code %d, status %d: %s", row->text, result, why.code, why.status,
                         why.message);
        if (result == 0 && m.is_modern != (row->era == MODERN))
                fail_msg("%s: of another era", row->text);
        arena_fini(&arena);
}

static void
test_rows(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                try_row(&rows[i]);
}

static void
test_limits(void **state)
{
        struct mcp_headers headers = { 0 };
        struct mcp_message m;
        struct mcp_refusal why;
        struct arena arena;
        char *text = malloc(MCP_MESSAGE_MAX + 1);

        (void)state;
        assert_non_null(text);
        arena_init(&arena, 64u << 20);
        memset(text, ' ', MCP_MESSAGE_MAX + 1);
        memcpy(text, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}", 33);
        assert_int_equal(mcp_message_read(&arena, text, MCP_MESSAGE_MAX, &headers, &m, &why), 0);
        assert_int_equal(mcp_message_read(&arena, text, MCP_MESSAGE_MAX + 1, &headers, &m, &why),
                         -1);
        assert_int_equal(why.code, MCP_PARSE_ERROR);
        memset(text, '[', 1000);
        assert_int_equal(mcp_message_read(&arena, text, 1000, &headers, &m, &why), -1);
        assert_int_equal(why.code, MCP_PARSE_ERROR);
        arena_fini(&arena);
        free(text);
}

static void
test_unsupported_version_lists_the_supported(void **state)
{
        static const char text[] =
                "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"a\",\"params\":{\"_meta\":{\"io."
                "modelcontextprotocol/protocolVersion\":\"2030-01-01\","
                "\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
        struct mcp_headers headers = { 0 };
        struct mcp_message m;
        struct mcp_refusal why;
        struct json_writer w;
        struct arena arena;

        (void)state;
        arena_init(&arena, 1u << 20);
        assert_int_equal(mcp_message_read(&arena, text, sizeof text - 1, &headers, &m, &why), -1);
        json_init(&w, false);
        mcp_error_write(&w, m.id, &why);
        assert_string_equal(
                w.text, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32022,\"message\":"
                        "\"Unsupported protocol version: 2030-01-01\","
                        "\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"2030-01-01\"}}}");
        json_fini(&w);
        arena_fini(&arena);
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_limits),
                cmocka_unit_test(test_unsupported_version_lists_the_supported),
        };

        return cmocka_run_group_tests_name("mcp/message", tests, NULL, NULL);
}
