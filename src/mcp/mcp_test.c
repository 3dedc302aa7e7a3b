/*
 * mcp/mcp_test.c - the server over a scripted link: its answers, what is cancelled, which
 * sandbox a context gets.
 */
#include "mcp/script.h"

/* -- the protocol ------------------------------------------------------------------------------ */

static void
test_initialize(void **state)
{
        struct world w;
        unsigned char bytes[256] __attribute__((aligned(8)));
        struct record_writer words;

        (void)state;
        build(&w);
        say(&w, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}}}");
        assert_non_null(w.request);
        assert_string_equal(record_get_text(&last(&w, OP_INSTRUCTIONS)->fields, FIELD_ID, ""),
                            "box");
        record_init(&words, bytes, sizeof bytes);
        record_text(&words, FIELD_TEXT, "no network");
        reply(last(&w, OP_INSTRUCTIONS), &words);
        expect(&w, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"2025-06-18\","
                   "\"capabilities\":{\"tools\":{}},"
                   "\"serverInfo\":{\"name\":\"carrel\",\"title\":\"Carrel "
                   "sandboxes\",\"version\":\"1.2.3\"},\"instructions\":\"no network\"}}");
        say(&w, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                "\"protocolVersion\":\"1999-01-01\"}}");
        reply(last(&w, OP_INSTRUCTIONS), &words);
        expect_part(&w, "\"protocolVersion\":\"2025-11-25\"");
        say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        assert_int_equal(w.client.status, 202);
        say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
        expect(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
        say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"nope\"}");
        expect(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601,\"message\":\"Method "
                   "not found: nope\"}}");
        assert_int_equal(w.client.status, 200);
        raze(&w);
}

/* A client matches answers by the id that it sent. */
static void
test_refused_under_its_id(void **state)
{
        static const char *const texts[] = { "\\u0000", "\\ud800", "\xff" };
        struct world w;
        char text[512];

        (void)state;
        build(&w);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
                (void)snprintf(
                        text, sizeof text,
                        "{\"method\":\"tools/"
                        "call\",\"params\":{\"name\":\"%s\"},\"jsonrpc\":\"2.0\",\"id\":%zu}",
                        texts[i], i);
                say(&w, text);
                (void)snprintf(text, sizeof text,
                               "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"error\":{\"code\":-32700,", i);
                expect_part(&w, text);
        }
        say(&w, "{\"jsonrpc\":\"2.0\",\"id\":\"twice\",\"method\":\"ping\",\"params\":{\"a\":1,"
                "\"a\":2}}");
        expect_part(&w, "\"id\":\"twice\",\"error\"");
        for (unsigned i = 0; i < MCP_PIPE_REQUESTS_MAX; i++)
                say(&w, CALL(1, EXECUTE, "{\"command\":\"sleep 9\"}"));
        say(&w, CALL(77, EXECUTE, "{\"command\":\"sleep 9\"}"));
        expect(&w, "{\"jsonrpc\":\"2.0\",\"id\":77,\"error\":{\"code\":-32000,\"message\":\"Too "
                   "many requests at once\"}}");
        raze(&w);
}

/* The output of a command may contain bytes that Carrel's JSON reader refuses. */
static void
test_output_of_any_byte(void **state)
{
        struct world w;
        struct noted *n;

        (void)state;
        build(&w);
        say(&w, CALL(3, "exec", "{\"command\":\"cat /proc/self/environ\"}"));
        n = last(&w, OP_EXEC);
        start_exec(n, 1, 2);
        put_frame(n, CHANNEL_STDOUT, "a\0b", 3);
        exit_with(n, OUTCOME_EXITED, 0);
        expect_part(&w, "\"structuredContent\":{");
        expect_part(&w, "\"stdout\":\"a\\u0000b\"");
        expect_part(&w, "\\\"stdout\\\":\\\"a\\\\u0000b\\\"");
        raze(&w);
}

/*
 * dropped_bytes always counts the bytes missing since the requested offset, so that offset, text
 * and missing bytes add up.
 */
static void
test_dropped_bytes(void **state)
{
        struct world w;
        struct noted *n;
        char *text = malloc(100000);

        (void)state;
        assert_non_null(text);
        memset(text, 'x', 100000);
        build(&w);
        say(&w, CALL(3, "exec", "{\"command\":\"yes\"}"));
        n = last(&w, OP_EXEC);
        start_exec(n, 1, 2);
        for (int i = 0; i < 30; i++)
                put_frame(n, CHANNEL_STDOUT, text, 100000), turn(&w.script);
        end_with(n, &(struct channel_end){ .word = OUTCOME_EXITED,
                                           .stdout_bytes = 3000500,
                                           .dropped_bytes = 500 });
        expect_part(&w, "\"stdout_bytes\":3000500,\"stderr_bytes\":0,\"dropped_bytes\":2934964,");
        expect_part(&w, "\"stdout_offset\":2934464,\"stderr_offset\":0}");
        raze(&w);
        free(text);
}

/* A repeated call with the key of an ended command reports that command's actual state. */
static void
test_key_of_an_ended(void **state)
{
        unsigned char bytes[256] __attribute__((aligned(8)));
        struct record_writer fields;
        struct world w;
        struct noted *n;

        (void)state;
        build(&w);
        say(&w, CALL(3, "exec", "{\"command\":\"x\",\"background\":true}"));
        n = last(&w, OP_EXEC);
        record_init(&fields, bytes, sizeof bytes);
        record_uint(&fields, FIELD_EXEC, 4);
        record_text(&fields, FIELD_STATE, "ended");
        reply(n, &fields);
        started(n, 4, 9);
        assert_int_equal(w.client.answers, 0);
        exit_with(n, OUTCOME_EXITED, 0);
        expect_part(
                &w,
                "{\"exec\":4,\"state\":\"ended\",\"pid\":9,\"outcome\":\"exited\",\"exit_code\":0");
        raze(&w);
}

static void
test_discover(void **state)
{
        struct world w;

        (void)state;
        build(&w);
        w.ask.sandbox = NULL;
        say(&w,
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"server/discover\",\"params\":{" META "}}");
        expect_part(&w,
                    "\"result\":{\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/"
                    "serverInfo\":{\"name\":\"carrel\",\"version\":\"1.2.3\"}},"
                    "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},"
                    "\"instructions\":\"No sandbox is configured");
        expect_part(&w, "\"ttlMs\":60000,\"cacheScope\":\"private\"}}");
        say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META "}}");
        expect_part(&w, "-32601");
        assert_int_equal(w.client.status, 404);
        assert_int_equal(w.script.count, 0);
        raze(&w);
}

static void
test_list(void **state)
{
        struct world w;
        char *first;

        (void)state;
        build(&w);
        say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
        expect_part(&w, "{\"tools\":[{\"name\":\"mastra_workspace_execute_command\",\"title\":"
                        "\"Execute command\",\"description\":\"Execute a shell command");
        expect_part(&w, "\"timeout\":{\"description\":\"Maximum execution time in seconds. "
                        "Example: 60 for 1 minute.\",\"type\":[\"number\",\"null\"]}");
        expect_part(&w, "\"annotations\":{\"title\":\"Get process "
                        "output\",\"readOnlyHint\":true,\"destructiveHint\":false,"
                        "\"idempotentHint\":true,\"openWorldHint\":false}");
        expect_part(&w, "\"name\":\"write_files\"");
        first = strdup(w.client.answer);
        say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
        assert_string_equal(w.client.answer, first); /* always in the same order */
        free(first);
        w.ask.flags = MCP_PLAIN_NAMES;
        say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
        expect_part(&w, "{\"tools\":[{\"name\":\"execute_command\"");
        say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
                "list\",\"params\":{\"cursor\":\"x\"}}");
        expect_part(&w, "-32602");
        raze(&w);
}

/* A36-171: no sandbox, no command tools; a direct call is a typed error. */
static void
test_not_configured(void **state)
{
        struct world w;

        (void)state;
        build(&w);
        w.ask.sandbox = NULL;
        say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
        assert_null(strstr(w.client.answer, "execute_command\",\"title"));
        assert_null(strstr(w.client.answer, "\"name\":\"sandbox_create\""));
        expect_part(&w, "\"required\":[\"sandbox_id\",\"path\"]");
        say(&w, CALL(2, EXECUTE, "{\"command\":\"true\"}"));
        expect_part(&w, "\"code\":\"sandbox_not_configured\"");
        expect_part(&w, "\"isError\":true");
        assert_int_equal(w.script.count, 0);
        w.ask.flags = MCP_MANAGE;
        say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
        expect_part(&w, "\"name\":\"sandbox_create\"");
        raze(&w);
}

/* -- cancelling -------------------------------------------------------------------------------- */

static void
test_cancel(void **state)
{
        struct world w;
        struct noted *n;

        (void)state;
        build(&w);
        say(&w, CALL(5, EXECUTE, "{\"command\":\"sleep 9\"}"));
        n = last(&w, OP_EXEC);
        start_exec(n, 1, 2);
        say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                "cancelled\",\"params\":{\"requestId\":\"5\"}}");
        assert_false(n->is_ended); /* "5" is not 5 */
        w.ask.peer.uid = 8;
        say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                "cancelled\",\"params\":{\"requestId\":5}}");
        assert_false(n->is_ended); /* nor is another client's */
        w.ask.peer.uid = 7;
        say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                "cancelled\",\"params\":{\"requestId\":5}}");
        assert_true(n->is_ended);
        assert_false(n->is_left); /* its channel is closed: the box kills it */
        say(&w, CALL(6, EXECUTE, "{\"command\":\"sleep 9\"}"));
        n = last(&w, OP_EXEC);
        cancel(&w);
        assert_true(n->is_ended && !n->is_left);
        assert_int_equal(w.client.answers, 0);
        raze(&w);
}

/*
 * Two agents of one user, over HTTP without a session, may use the same ids: neither cancels the
 * other's request.
 */
static void
test_cancel_is_never_guessed(void **state)
{
        struct world w;
        struct noted *first, *second;

        (void)state;
        build(&w);
        w.ask.headers.is_http = true;
        w.script.is_door = true;
        say(&w, CALL(5, EXECUTE, "{\"command\":\"sleep 9\"}"));
        first = last(&w, OP_EXEC);
        say(&w, CALL(5, EXECUTE, "{\"command\":\"sleep 9\"}"));
        second = last(&w, OP_EXEC);
        say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                "cancelled\",\"params\":{\"requestId\":5}}");
        assert_false(first->is_ended || second->is_ended);
        cancel(&w);
        raze(&w);
}

/* -- progress ---------------------------------------------------------------------------------- */

static void
test_progress(void **state)
{
        struct world w;
        struct noted *n;

        (void)state;
        build(&w);
        say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
                "call\",\"params\":{\"name\":\"" EXECUTE
                "\",\"arguments\":{\"command\":\"x\"},\"_meta\":{\"progressToken\":\"t\"}}}");
        n = last(&w, OP_EXEC);
        print(n, 1, "a\xe2\x82");
        print(n, 2, "b");
        print(n, 1,
              "\xac"
              "c");
        assert_string_equal(w.client.notes, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                                            "progress\",\"params\":{\"progressToken\":\"t\","
                                            "\"progress\":3,\"message\":\"a\"}}\n"
                                            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                                            "progress\",\"params\":{\"progressToken\":\"t\","
                                            "\"progress\":4,\"message\":\"b\"}}\n"
                                            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                                            "progress\",\"params\":{\"progressToken\":\"t\","
                                            "\"progress\":6,\"message\":\"\xe2\x82\xac"
                                            "c\"}}\n");
        w.client.is_full = true;
        print(n, 1, "never told");
        assert_null(strstr(w.client.notes, "never"));
        exit_with(n, OUTCOME_EXITED, 0);
        expect_part(&w, "never told");
        raze(&w);
}

/* -- which sandbox ----------------------------------------------------------------------------- */

static void
reply_id(struct noted *n, const char *id)
{
        unsigned char bytes[256] __attribute__((aligned(8)));
        struct record_writer fields;

        record_init(&fields, bytes, sizeof bytes);
        record_text(&fields, FIELD_ID, id);
        record_text(&fields, FIELD_STATUS, "pending");
        reply(n, &fields);
}

#define CONTEXT(user, thread)                                                                     \
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"" EXECUTE \
        "\",\"arguments\":{\"command\":\"x\"},"                                                   \
        "\"_meta\":{\"carrel/context\":{\"user\":\"" user "\",\"thread\":\"" thread "\"}}}}"

static void
test_context_makes_a_sandbox(void **state)
{
        struct world w;
        struct error e;
        char name[64];

        (void)state;
        build(&w);
        w.ask.sandbox = NULL;
        w.ask.cache_key = "thread";
        say(&w, CONTEXT("alice", "t1"));
        (void)stpncpy(name, record_get_text(&last(&w, OP_GET)->fields, FIELD_ID, ""),
                      sizeof name - 1);
        assert_memory_equal(name, "ctx-", 4);
        (void)fail(&e, ERROR_NOT_FOUND, "none");
        refuse(last(&w, OP_GET), &e);
        assert_string_equal(record_get_text(&last(&w, OP_CREATE)->fields, FIELD_NAME, ""), name);
        reply_id(last(&w, OP_CREATE), "abc1");
        assert_string_equal(record_get_text(&last(&w, OP_EXEC)->fields, FIELD_ID, ""), "abc1");
        cancel(&w);
        say(&w, CONTEXT("bob", "t1")); /* only the thread is the key */
        assert_string_equal(record_get_text(&last(&w, OP_EXEC)->fields, FIELD_ID, ""), "abc1");
        cancel(&w);
        say(&w, CONTEXT("alice", "t2"));
        assert_string_not_equal(record_get_text(&last(&w, OP_GET)->fields, FIELD_ID, ""), name);
        cancel(&w);
        w.ask.peer.uid = 8; /* another owner's t1 is another sandbox */
        say(&w, CONTEXT("alice", "t1"));
        assert_string_not_equal(record_get_text(&last(&w, OP_GET)->fields, FIELD_ID, ""), name);
        cancel(&w);
        w.ask.peer.uid = 7;
        say(&w,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"carrel/clearSandboxCache\",\"params\":{}}");
        expect_part(&w, "{\"cleared\":1}");
        say(&w, CONTEXT("alice", "t1"));
        assert_string_equal(record_get_text(&last(&w, OP_GET)->fields, FIELD_ID, ""), name);
        raze(&w);
}

/*
 * The sandbox of a context may be stopped or lost. Then the context gets another one, and the
 * request that noticed it is served by the new one.
 */
static void
test_context_continues(void **state)
{
        static const enum error_code codes[] = { ERROR_NOT_FOUND, ERROR_BACKEND_FAILED };
        unsigned char bytes[256] __attribute__((aligned(8)));
        struct record_writer fields;
        struct world w;
        struct error e;

        (void)state;
        build(&w);
        w.ask.sandbox = NULL;
        w.ask.context_key = "alice";
        for (int turn = 0; turn < 3; turn++) {
                say(&w, CALL(1, EXECUTE, "{\"command\":\"true\"}"));
                if (turn > 0) { /* it is remembered, and the call is refused */
                        struct noted *n = last(&w, OP_EXEC);

                        assert_string_equal(record_get_text(&n->fields, FIELD_ID, ""),
                                            turn == 1 ? "one0" : "one1");
                        (void)fail(&e, codes[turn - 1], "it is over");
                        refuse(n, &e);
                }
                (void)fail(&e, ERROR_NOT_FOUND, "there is none");
                refuse(last(&w, OP_GET), &e);
                record_init(&fields, bytes, sizeof bytes);
                record_text(&fields, FIELD_ID, turn == 0 ? "one0" : turn == 1 ? "one1" : "one2");
                reply(last(&w, OP_CREATE), &fields);
                start_exec(last(&w, OP_EXEC), 1, 2);
                assert_string_equal(record_get_text(&last(&w, OP_EXEC)->fields, FIELD_ID, ""),
                                    turn == 0   ? "one0"
                                    : turn == 1 ? "one1"
                                                : "one2");
                exit_with(last(&w, OP_EXEC), OUTCOME_EXITED, 0);
                expect_text(&w, "(no output)", false);
        }
        say(&w, CALL(1, EXECUTE, "{\"command\":\"true\"}"));
        (void)fail(&e, ERROR_QUOTA_EXCEEDED, "too many");
        refuse(last(&w, OP_EXEC), &e);
        assert_int_equal(w.client.answers, 1); /* any other refusal is the answer */
        raze(&w);
}

static void
test_mounts_and_contexts_exclude_each_other(void **state)
{
        static const char text[] = "{\"mounts\":[{\"source\":\"/a\",\"at\":\"/b\"}]}";
        static const struct text_limits limits = { 4096, 8, 64 };
        const struct node *manifest;
        struct arena arena;
        struct world w;
        struct error e;

        (void)state;
        build(&w);
        arena_init(&arena, 1u << 16);
        assert_int_equal(json_read(&arena, text, sizeof text - 1, &limits, &manifest, &e), 0);
        w.ask.sandbox = NULL;
        w.ask.manifest = manifest;
        say(&w, CONTEXT("alice", "t1"));
        (void)fail(&e, ERROR_NOT_FOUND, "none");
        refuse(last(&w, OP_GET), &e);
        expect_part(&w, "\"reason\":\"INVALID_CONFIG\"");
        raze(&w);
        arena_fini(&arena);
}

static void
test_instructions_provision_only_when_asked(void **state)
{
        static const char discover[] =
                "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"server/discover\",\"params\":{" META
                "}}";
        struct world w;

        (void)state;
        build(&w);
        w.ask.sandbox = NULL;
        w.ask.context_key = "alice";
        say(&w, discover);
        expect_part(&w, "\"instructions\":\"Commands run in an isolated sandbox that belongs to "
                        "the context");
        assert_int_equal(w.script.count, 0);
        w.ask.flags = MCP_RESOLVE_INSTRUCTIONS;
        say(&w, discover);
        (void)last(&w, OP_GET);
        raze(&w);
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_initialize),
                cmocka_unit_test(test_refused_under_its_id),
                cmocka_unit_test(test_output_of_any_byte),
                cmocka_unit_test(test_dropped_bytes),
                cmocka_unit_test(test_key_of_an_ended),
                cmocka_unit_test(test_discover),
                cmocka_unit_test(test_list),
                cmocka_unit_test(test_not_configured),
                cmocka_unit_test(test_cancel),
                cmocka_unit_test(test_cancel_is_never_guessed),
                cmocka_unit_test(test_progress),
                cmocka_unit_test(test_context_makes_a_sandbox),
                cmocka_unit_test(test_context_continues),
                cmocka_unit_test(test_mounts_and_contexts_exclude_each_other),
                cmocka_unit_test(test_instructions_provision_only_when_asked),
        };

        return cmocka_run_group_tests_name("mcp/mcp", tests, NULL, NULL);
}
