/*
 * mcp/tools_test.c - the tools over a scripted link: their calls and answers, and which
 * processes end with their client.
 */
#include "mcp/script.h"
#include "mcp/server.h"

/* -- execute_command --------------------------------------------------------------------------- */

static void
test_foreground(void **state)
{
        struct world w;
        struct noted *n;

        (void)state;
        build(&w);
        say(&w, CALL(1, EXECUTE,
                     "{\"command\":\"seq 1 9 | tail "
                     "-2\",\"timeout\":\"1.5\",\"cwd\":\"/tmp\",\"tail\":null}"));
        n = last(&w, OP_EXEC);
        assert_string_equal(record_get_text(&n->fields, FIELD_ID, ""), "box");
        assert_string_equal(record_get_text(&n->fields, FIELD_COMMAND, ""), "seq 1 9");
        assert_string_equal(record_get_text(&n->fields, FIELD_CWD, ""), "/tmp");
        assert_int_equal(record_get_uint(&n->fields, FIELD_TIMEOUT, 0), 1500);
        assert_false(record_get_bool(&n->fields, FIELD_BACKGROUND, 0));
        start_exec(n, 3, 40);
        print(n, 1, "1\n2\n3\n");
        print(n, 2, "oops");
        assert_int_equal(w.client.answers, 0);
        exit_with(n, OUTCOME_EXITED, 4);
        expect_text(&w,
                    "stdout:\\n[showing last 2 of 3 "
                    "lines]\\n2\\n3\\n\\n\\nstderr:\\noops\\n\\nExit code: 4",
                    true);
        assert_null(w.client.notes);
        say(&w, CALL(2, EXECUTE, "{\"command\":\"sleep 9\",\"timeout\":2}"));
        start_exec(last(&w, OP_EXEC), 4, 41);
        exit_with(last(&w, OP_EXEC), OUTCOME_TIMED_OUT, -1);
        expect_text(&w, "stderr:\\n\\nProcess timed out after 2000ms\\n\\nExit code: 124", true);
        say(&w, CALL(3, EXECUTE, "{\"command\":\"true\"}"));
        exit_with(last(&w, OP_EXEC), OUTCOME_EXITED, 0);
        expect_text(&w, "(no output)", false);
        raze(&w);
}

static void
test_arguments(void **state)
{
        static const char *const bad[] = {
                CALL(1, EXECUTE, "{}"),
                CALL(1, EXECUTE, "{\"command\":5}"),
                CALL(1, EXECUTE, "{\"command\":null}"),
                CALL(1, EXECUTE, "{\"command\":\"x\",\"timeout\":\"abc\"}"),
                CALL(1, EXECUTE, "{\"command\":\"x\",\"timeout\":-1}"),
                CALL(1, EXECUTE, "{\"command\":\"x\",\"tail\":1.5}"),
                CALL(1, EXECUTE, "{\"command\":\"x\",\"background\":\"yes\"}"),
                CALL(1, EXECUTE, "{\"command\":\"x\",\"cwd\":7}"),
                CALL(1, OUTPUT, "{\"pid\":7}"),
                CALL(1, OUTPUT, "{}"),
                CALL(1, OUTPUT, "{\"pid\":\"7\",\"wait\":1}"),
                CALL(1, "exec", "{\"command\":\"x\",\"bogus\":1}"),
                CALL(1, "read_file", "{}"),
                CALL(1, "extend_timeout", "{\"duration_ms\":0}"),
                CALL(1, "write_files", "{\"files\":[]}"),
                CALL(1, "write_files", "{\"files\":[{\"path\":\"a\"}]}"),
        };
        struct world w;

        (void)state;
        build(&w);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                say(&w, bad[i]);
                if (!w.client.answer || !strstr(w.client.answer, "\"isError\":true") ||
                    !strstr(w.client.answer, "\"code\":\"invalid_argument\""))
                        fail_msg("%s: %s", bad[i], w.client.answer);
        }
        say(&w, CALL(1, "nope", "{}"));
        expect_part(&w, "\"error\":{\"code\":-32602,\"message\":\"Unknown tool: nope\"}");
        assert_int_equal(w.script.count, 0);
        raze(&w);
}

static void
test_refused(void **state)
{
        struct world w;
        struct error e;

        (void)state;
        build(&w);
        say(&w, CALL(1, EXECUTE, "{\"command\":\"true\"}"));
        (void)fail(&e, ERROR_READ_ONLY, "this sandbox permits no command");
        refuse(last(&w, OP_EXEC), &e);
        expect_part(&w, "\"text\":\"Sandbox does not support executeCommand\"");
        expect_part(&w, "\"isError\":true");
        say(&w, CALL(1, EXECUTE, "{\"command\":\"true\"}"));
        print(last(&w, OP_EXEC), 1, "some\n");
        lose(last(&w, OP_EXEC));
        expect_text(&w, "some\\n\\nError: the sandbox ended before the command did", true);
        hang_up(&w.script);
        say(&w, CALL(1, EXECUTE, "{\"command\":\"true\"}"));
        expect_part(&w, "\"code\":\"unavailable\"");
        raze(&w);
}

/* -- in the background ------------------------------------------------------------------------- */

static void
test_background_dies_with_its_agent(void **state)
{
        struct world w;
        struct noted *n;

        (void)state;
        build(&w);
        say(&w, CALL(1, EXECUTE, "{\"command\":\"sleep 9 | tail -1\",\"background\":true}"));
        n = last(&w, OP_EXEC);
        assert_string_equal(record_get_text(&n->fields, FIELD_COMMAND, ""), "sleep 9 | tail -1");
        assert_false(record_get_bool(&n->fields, FIELD_BACKGROUND, 0));
        start_exec(n, 1, 77);
        expect_text(&w, "Started background process (PID: 77)", false);
        assert_false(n->is_ended);
        print(n, 1, "heard by nobody");
        mcp_client_end(w.server, &w.ask.peer, NULL);
        turn(&w.script);
        assert_true(n->is_ended && !n->is_left);
        raze(&w);
}

static void
test_background_is_kept(void **state)
{
        static const char *const kept[] = {
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
                "call\",\"params\":{\"name\":\"" EXECUTE
                "\",\"arguments\":{\"command\":\"x\",\"background\":true},"
                "\"_meta\":{\"carrel/keepBackground\":true,\"carrel/idempotencyKey\":\"k1\"}}}",
                CALL(1, EXECUTE, "{\"command\":\"x\",\"background\":true}"),
        };
        struct world w;
        struct noted *n;

        (void)state;
        build(&w);
        for (size_t i = 0; i < 2; i++) {
                w.ask.flags = i == 1 ? MCP_KEEP_BACKGROUND : 0;
                say(&w, kept[i]);
                n = last(&w, OP_EXEC);
                assert_true(record_get_bool(&n->fields, FIELD_BACKGROUND, 0));
                assert_string_equal(record_get_text(&n->fields, FIELD_KEY, ""), i == 0 ? "k1" : "");
                start_exec(n, 1, 78);
                expect_text(&w, "Started background process (PID: 78)", false);
                assert_true(n->is_ended && n->is_left);
        }
        raze(&w);
}

/* -- get_process_output and kill_process ------------------------------------------------------- */

static void
put_exec(struct record_writer *w, uint64_t exec, uint64_t pid, const char *state,
         const char *outcome, int code)
{
        size_t mark = record_open(w, FIELD_ITEMS);

        record_uint(w, FIELD_EXEC, exec);
        record_uint(w, FIELD_PID, pid);
        record_text(w, FIELD_STATE, state);
        record_text(w, FIELD_OUTCOME, outcome);
        record_int(w, FIELD_EXIT_CODE, code);
        record_close(w, mark);
}

static void
reply_execs(struct world *w)
{
        unsigned char bytes[2048] __attribute__((aligned(8)));
        struct record_writer items;

        record_init(&items, bytes, sizeof bytes);
        put_exec(&items, 1, 77, "ended", "exited", 0);
        put_exec(&items, 2, 77, "running", NULL, 0);
        put_exec(&items, 3, 78, "ended", "exited", 3);
        put_exec(&items, 4, 79, "ended", "killed", 137);
        reply(last(w, OP_EXEC_LIST), &items);
}

static void
reply_attached(struct world *w, uint64_t out_bytes, uint64_t err_bytes)
{
        unsigned char bytes[256] __attribute__((aligned(8)));
        struct record_writer fields;

        record_init(&fields, bytes, sizeof bytes);
        record_uint(&fields, FIELD_STDOUT_BYTES, out_bytes);
        record_uint(&fields, FIELD_STDERR_BYTES, err_bytes);
        reply(last(w, OP_EXEC_ATTACH), &fields);
}

static void
test_output(void **state)
{
        struct world w;
        struct noted *n;

        (void)state;
        build(&w);
        say(&w, CALL(1, OUTPUT, "{\"pid\":\"77\"}"));
        reply_execs(&w);
        n = last(&w, OP_EXEC_ATTACH);
        /* the newest with that pid */
        assert_int_equal(record_get_uint(&n->fields, FIELD_EXEC, 0), 2);
        reply_attached(&w, 8, 0);
        started(n, 2, 77);
        assert_int_equal(w.client.answers, 0); /* the reply announced eight bytes */
        put_text(n, 1, "started\n");
        print(n, 2, "warn\n");
        expect_text(&w, "stdout:\\nstarted\\n\\n\\nstderr:\\nwarn\\n", false);
        assert_true(n->is_ended && n->is_left);
        say(&w, CALL(1, OUTPUT, "{\"pid\":\"77\"}"));
        reply_execs(&w);
        reply_attached(&w, 0, 0);
        n = last(&w, OP_EXEC_ATTACH);
        started(n, 2, 77);
        expect_text(&w, "(no output yet)", false);
        say(&w, CALL(1, OUTPUT, "{\"pid\":\"77\",\"wait\":true}"));
        reply_execs(&w);
        reply_attached(&w, 0, 0);
        print(last(&w, OP_EXEC_ATTACH), 1, "done\n");
        assert_int_equal(w.client.answers, 0);
        exit_with(last(&w, OP_EXEC_ATTACH), OUTCOME_EXITED, 3);
        expect_text(&w, "done\\n\\n\\nExit code: 3", false);
        raze(&w);
}

static void
test_output_of_none(void **state)
{
        static const char *const calls[] = { CALL(1, OUTPUT, "{\"pid\":\"9\"}"),
                                             CALL(1, OUTPUT, "{\"pid\":\"79\"}") };
        static const char *const pids[] = { "9", "79" };
        char text[100];
        struct world w;

        (void)state;
        build(&w);
        for (size_t i = 0; i < 2; i++) {
                say(&w, calls[i]);
                reply_execs(&w);
                (void)snprintf(text, sizeof text, "No background process found with PID %s.",
                               pids[i]);
                expect_text(&w, text, false);
        }
        say(&w, CALL(1, OUTPUT, "{\"pid\":\"x; rm\"}"));
        expect_text(&w, "No background process found with PID x; rm.", false);
        say(&w, CALL(1, KILL, "{\"pid\":\"78\"}"));
        reply_execs(&w);
        expect_text(&w, "Process 78 was not found or had already exited.", false);
        raze(&w);
}

static void
test_kill(void **state)
{
        unsigned char bytes[256] __attribute__((aligned(8)));
        struct record_writer fields;
        struct world w;

        (void)state;
        build(&w);
        say(&w, CALL(1, KILL, "{\"pid\":\"77\"}"));
        reply_execs(&w);
        assert_int_equal(record_get_uint(&last(&w, OP_EXEC_KILL)->fields, FIELD_EXEC, 0), 2);
        record_init(&fields, bytes, sizeof bytes);
        record_bool(&fields, FIELD_EXISTED, 1);
        reply(last(&w, OP_EXEC_KILL), &fields);
        reply_attached(&w, 0, 0);
        print(last(&w, OP_EXEC_ATTACH), 1, "last words\n");
        exit_with(last(&w, OP_EXEC_ATTACH), OUTCOME_KILLED, -1);
        expect_text(&w,
                    "Process 77 has been killed.\\n\\n--- stdout (last output) ---\\nlast words\\n",
                    false);
        raze(&w);
}

/* -- Carrel's own tools ------------------------------------------------------------------------ */

static void
test_exec(void **state)
{
        struct world w;
        struct noted *n;

        (void)state;
        build(&w);
        w.ask.flags = MCP_MANAGE;
        say(&w, CALL(1, "exec",
                     "{\"argv\":[\"a\",\"b\"],\"env\":{\"X\":\"1\"},\"sandbox_id\":\"other\","
                     "\"input\":\"aGk=\",\"encoding\":\"base64\"}"));
        n = last(&w, OP_EXEC);
        assert_string_equal(record_get_text(&n->fields, FIELD_ID, ""), "other");
        assert_string_equal(record_get_text(&n->fields, FIELD_ENV, ""), "X=1");
        start_exec(n, 9, 10);
        print(n, 1, "hi\n");
        exit_with(n, OUTCOME_SIGNALED, 0);
        expect_part(&w, "\"structuredContent\":{\"exec\":9,\"state\":\"ended\",\"pid\":10,"
                        "\"outcome\":\"signaled\",\"exit_code\":128,");
        expect_part(&w, "\"stdout_bytes\":3,\"stderr_bytes\":0,\"dropped_bytes\":0,\"stdout\":"
                        "\"hi\\n\",\"stderr\":\"\","
                        "\"stdout_offset\":0,\"stderr_offset\":0},\"isError\":true}}");
        raze(&w);
}

/* A model must not choose its own limits, nor look into other sandboxes. */
static void
test_only_managers_reach_others(void **state)
{
        static const char *const calls[] = {
                CALL(1, "sandbox_create", "{}"),
                CALL(1, "clear_sandbox_cache", "{}"),
                CALL(1, "exec", "{\"sandbox_id\":\"other\",\"command\":\"x\"}"),
                CALL(1, "read_file", "{\"sandbox_id\":\"other\",\"path\":\"x\"}"),
                CALL(1, "sandbox_stop", "{\"sandbox_id\":\"other\"}"),
        };
        struct world w;

        (void)state;
        build(&w);
        for (size_t by_context = 0; by_context < 2; by_context++) {
                w.ask.sandbox = by_context ? NULL : "box";
                w.ask.context_key = by_context ? "alice" : NULL;
                for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
                        say(&w, calls[i]);
                        expect_part(&w, "\"code\":\"forbidden\"");
                }
                say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
                assert_null(strstr(w.client.answer, "sandbox_id"));
        }
        say(&w, CALL(1, "sandbox_list", "{}"));
        expect_part(&w, "\"code\":\"forbidden\"");
        assert_int_equal(w.script.count, 0);
        w.ask.sandbox = "box";
        say(&w, CALL(1, "exec", "{\"sandbox_id\":\"box\",\"command\":\"x\"}"));
        (void)last(&w, OP_EXEC);
        raze(&w);
}

static void
test_list_shows_its_own(void **state)
{
        static const char *const names[] = { "a", "box", "c" };
        unsigned char bytes[1024] __attribute__((aligned(8)));
        struct record_writer items;
        struct world w;

        (void)state;
        build(&w);
        record_init(&items, bytes, sizeof bytes);
        for (size_t i = 0; i < 3; i++) {
                size_t mark = record_open(&items, FIELD_ITEMS);

                record_text(&items, FIELD_ID, "0123");
                record_text(&items, FIELD_NAME, names[i]);
                record_close(&items, mark);
        }
        say(&w, CALL(1, "sandbox_list", "{}"));
        reply(last(&w, OP_LIST), &items);
        expect_part(&w, "\"structuredContent\":{\"items\":[{\"id\":\"0123\",\"name\":\"box\","
                        "\"ports\":[],\"warnings\":[]}]}");
        w.ask.flags = MCP_MANAGE;
        say(&w, CALL(1, "sandbox_list", "{}"));
        reply(last(&w, OP_LIST), &items);
        expect_part(&w, "\"name\":\"c\"");
        say(&w, CALL(1, "sandbox_list", "{}"));
        reply(last(&w, OP_LIST), NULL);
        expect_part(&w, "\"structuredContent\":{\"items\":[]}");
        raze(&w);
}

/* The newest call of this operation, finished or not. */
static struct noted *
newest(struct world *w, enum operation_code op)
{
        turn(&w->script);
        for (size_t i = w->script.count; i > 0; i--)
                if (w->script.calls[i - 1]->op == op)
                        return w->script.calls[i - 1];
        return NULL;
}

/*
 * Over HTTP only silence shows that an agent has gone, and the daemon measures it. So the daemon
 * gets reports of the client, and the owner of each process.
 */
static void
test_background_over_http_is_the_clients(void **state)
{
        const char *mark = NULL;
        struct mcp_client *client;
        struct world w;
        struct noted *n, *heard;

        (void)state;
        build(&w);
        w.ask.headers.is_http = true;
        w.script.is_door = true;
        say(&w, CALL(1, EXECUTE, "{\"command\":\"sleep 9\",\"background\":true}"));
        heard = newest(&w, OP_CLIENT_HEARD);
        n = last(&w, OP_EXEC);
        mark = record_get_text(&n->fields, FIELD_CLIENT, "");
        assert_int_equal(strlen(mark), MCP_MARK_LEN);
        assert_string_equal(record_get_text(&heard->fields, FIELD_CLIENT, ""), mark);
        /* closing its channel does not end it, because a daemon may restart */
        assert_true(record_get_bool(&n->fields, FIELD_BACKGROUND, 0));
        reply(heard, NULL);
        start_exec(n, 1, 77);
        expect_text(&w, "Started background process (PID: 77)", false);
        assert_true(n->is_ended && n->is_left);
        client = w.server->clients;
        say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
        assert_true(newest(&w, OP_CLIENT_HEARD) == heard); /* the last report is recent */
        assert_int_equal(loop_timer_set(w.loop, &client->heard, loop_now_ms(), client->heard.fire),
                         0);
        loop_turn(w.loop);
        /* nothing is in flight: the next report is sent when the client returns */
        assert_null(w.server->clients);
        say(&w, CALL(3, EXECUTE, "{\"command\":\"sleep 9\"}"));
        assert_false(newest(&w, OP_CLIENT_HEARD) == heard);
        heard = newest(&w, OP_CLIENT_HEARD);
        reply(heard, NULL);
        client = w.server->clients;
        assert_int_equal(loop_timer_set(w.loop, &client->heard, loop_now_ms(), client->heard.fire),
                         0);
        loop_turn(w.loop);
        /* reports continue while a request is in flight */
        assert_false(newest(&w, OP_CLIENT_HEARD) == heard);
        reply(newest(&w, OP_CLIENT_HEARD), NULL);
        w.ask.client = "another";
        say(&w, CALL(4, EXECUTE, "{\"command\":\"sleep 9\",\"background\":true}"));
        reply(newest(&w, OP_CLIENT_HEARD), NULL);
        assert_string_not_equal(record_get_text(&last(&w, OP_EXEC)->fields, FIELD_CLIENT, ""),
                                mark);
        raze(&w);
}

static void
test_write_files(void **state)
{
        struct world w;

        (void)state;
        build(&w);
        say(&w, CALL(1, "write_files",
                     "{\"files\":[{\"path\":\"a\",\"content\":\"xyz\",\"mode\":420}]}"));
        reply(last(&w, OP_FILE_WRITE), NULL);
        assert_int_equal(w.script.sent_len, 24 + 1 + 3 + 24);
        assert_memory_equal(w.script.sent + 24, "axyz", 4);
        exit_with(last(&w, OP_FILE_WRITE), OUTCOME_EXITED, 0);
        expect_part(&w, "\"structuredContent\":{\"written\":1}");
        say(&w, CALL(1, "write_files", "{\"files\":[{\"path\":\"a/b\",\"content\":\"\"}]}"));
        reply(last(&w, OP_FILE_WRITE), NULL);
        print(last(&w, OP_FILE_WRITE), 2, "a/b");
        exit_with(last(&w, OP_FILE_WRITE), OUTCOME_EXITED, 2);
        expect_part(&w, "\"code\":\"file_not_found\"");
        raze(&w);
}

/* -- what was refused -------------------------------------------------------------------------- */

static void
end_refused(struct noted *n, uint16_t denied)
{
        end_with(n,
                 &(struct channel_end){ .word = OUTCOME_EXITED, .exit_code = 6, .denied = denied });
}

/*
 * The keeper's answer about an exec to which `kinds` things were refused, the first of them twice.
 */
static void
reply_refused(struct noted *n, int kinds, uint64_t more)
{
        unsigned char bytes[1024] __attribute__((aligned(8)));
        struct record_writer w;

        assert_int_equal(record_get_uint(&n->fields, FIELD_EXEC, 0), 3);
        assert_string_equal(record_get_text(&n->fields, FIELD_ID, ""), "box");
        record_init(&w, bytes, sizeof bytes);
        record_uint(&w, FIELD_EXEC, 3);
        for (int i = 0; i < kinds; i++) {
                size_t mark = record_open(&w, FIELD_DENIED);

                record_text(&w, FIELD_HOST, i == 0 ? "a.test" : "b.test");
                record_uint(&w, FIELD_COUNT, i == 0 ? 2 : 1);
                record_text(&w, FIELD_MESSAGE, i == 0 ? "No a." : "No b.");
                record_close(&w, mark);
        }
        if (more > 0)
                record_uint(&w, FIELD_DENIED_MORE, more);
        reply(n, &w);
}

static void
test_what_was_refused(void **state)
{
        struct world w;
        struct error e;

        (void)state;
        build(&w);
        say(&w, CALL(1, EXECUTE, "{\"command\":\"curl a.test\"}"));
        start_exec(last(&w, OP_EXEC), 3, 40);
        print(last(&w, OP_EXEC), 2, "no such host");
        end_refused(last(&w, OP_EXEC), 3);
        assert_int_equal(w.client.answers, 0);
        reply_refused(last(&w, OP_EXEC_GET), 2, 4);
        expect_text(&w,
                    "stderr:\\nno such host\\n\\nExit code: 6\\n\\nRefused by the sandbox's "
                    "network rules:\\n- No a. (2 times)\\n- No b.\\n- and 4 more requests; "
                    "list_denials tells the last",
                    true);
        say(&w, CALL(2, "exec", "{\"argv\":[\"curl\"]}"));
        start_exec(last(&w, OP_EXEC), 3, 40);
        end_refused(last(&w, OP_EXEC), 3);
        reply_refused(last(&w, OP_EXEC_GET), 1, 0);
        expect_part(&w, "\"stderr_offset\":0,\"denied\":[{\"host\":\"a.test\",\"count\":2,"
                        "\"message\":\"No a.\"}]},\"isError\"");
        say(&w, CALL(3, "exec", "{\"argv\":[\"curl\"]}"));
        start_exec(last(&w, OP_EXEC), 3, 40);
        end_refused(last(&w, OP_EXEC), 1);
        (void)fail(&e, ERROR_UNAVAILABLE, "the daemon is not there");
        refuse(last(&w, OP_EXEC_GET), &e);
        expect_part(&w, "\"exit_code\":6"); /* the result is still sent */
        say(&w, CALL(4, EXECUTE, "{\"command\":\"curl a.test\"}"));
        start_exec(last(&w, OP_EXEC), 3, 40);
        hang_up(&w.script);
        end_refused(last(&w, OP_EXEC), 1);
        expect_text(&w, "Exit code: 6", true);
        raze(&w);
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_foreground),
                cmocka_unit_test(test_arguments),
                cmocka_unit_test(test_refused),
                cmocka_unit_test(test_background_dies_with_its_agent),
                cmocka_unit_test(test_background_is_kept),
                cmocka_unit_test(test_output),
                cmocka_unit_test(test_output_of_none),
                cmocka_unit_test(test_kill),
                cmocka_unit_test(test_exec),
                cmocka_unit_test(test_what_was_refused),
                cmocka_unit_test(test_only_managers_reach_others),
                cmocka_unit_test(test_list_shows_its_own),
                cmocka_unit_test(test_background_over_http_is_the_clients),
                cmocka_unit_test(test_write_files),
        };

        return cmocka_run_group_tests_name("mcp/tools", tests, NULL, NULL);
}
