/*
 * mcp/tools_text_test.c - the texts of Mastra's own tools, and edge cases that they do not show.
 */
#include "mcp/tools_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "text/json.h"

static const struct text_limits limits = { 4u << 20, 16, 65536 };

/* -- test/golden/mastra/execute_command.json --------------------------------------------------- */

static char *
read_file(const char *path, size_t *ret_len)
{
        FILE *file = fopen(path, "rb");
        char *text = malloc(limits.bytes_max);

        assert_non_null(file);
        assert_non_null(text);
        *ret_len = fread(text, 1, limits.bytes_max, file);
        assert_int_equal(fclose(file), 0);
        return text;
}

static void
try_case(const struct node *c)
{
        const struct node *out = node_find(c, "stdout"), *err = node_find(c, "stderr"),
                          *text = node_find(c, "text");
        struct tools_stream streams[2] = { 0 };
        struct tools_output o = { &streams[0], &streams[1], node_find(c, "tail")->integer,
                                  TOOLS_TOKENS };
        struct mcp_bytes got = { 0 };

        tools_stream_put(&streams[0], out->text, out->len);
        tools_stream_put(&streams[1], err->text, err->len);
        tools_text_command(&got, &o, (int)node_find(c, "exit_code")->integer, NULL);
        if (got.is_broken || got.len != text->len || memcmp(got.text, text->text, got.len) != 0)
                fail_msg("%s: got\n%s\nnot\n%s", node_find(c, "name")->text, got.text, text->text);
        mcp_bytes_fini(&got);
        tools_stream_fini(&streams[0]);
        tools_stream_fini(&streams[1]);
}

static void
test_texts_are_mastras(void **state)
{
        struct arena arena;
        struct error e = { 0 };
        const struct node *root = NULL;
        size_t len, count = 0;
        char *text = read_file(GOLDEN_ROOT "/test/golden/mastra/execute_command.json", &len);

        (void)state;
        arena_init(&arena, 64u << 20);
        assert_int_equal(json_read(&arena, text, len, &limits, &root, &e), 0);
        node_each(c, root)
        {
                try_case(c);
                count++;
        }
        assert_true(count > 50);
        arena_fini(&arena);
        free(text);
}

/* -- the pipe into tail ------------------------------------------------------------------------ */

static void
test_tail_pipe(void **state)
{
        static const struct {
                const char *command, *text;
                int64_t tail;
        } cases[] = {
                { "ls | tail -5", "ls", 5 },
                { "ls|tail -5", "ls", 5 },
                { "  ls -l  |  tail  -n  12\n", "ls -l", 12 },
                { "ls | tail -n -3", "ls", 3 },
                { "ls | tail 3", "ls", 3 },
                { "a | tail -4 | tail -2", "a | tail -4", 2 },
                { "ls\xc2\xa0| tail -5", "ls", 5 },
                { "| tail -1", "", 1 },
                { "ls | tail -0", NULL, 0 },
                { "ls | tail", NULL, 0 },
                { "ls | tail -n5", NULL, 0 },
                { "ls | tail -n +5", NULL, 0 },
                { "ls | tail -5 file", NULL, 0 },
                { "ls | tail -f", NULL, 0 },
                { "ls || tail -5", NULL, 0 },
                { "ls | tails -5", NULL, 0 },
                { "ls", NULL, 0 },
                { "", NULL, 0 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const char *text = NULL;
                size_t len = 0;
                int64_t tail = -1;
                int found = tools_tail_pipe(cases[i].command, &text, &len, &tail);

                if (found != (cases[i].text != NULL))
                        fail_msg("`%s`: found %d", cases[i].command, found);
                if (!found)
                        assert_int_equal(len, strlen(cases[i].command));
                else if (tail != cases[i].tail || len != strlen(cases[i].text) ||
                         memcmp(text, cases[i].text, len) != 0)
                        fail_msg("`%s`: `%.*s`, %lld", cases[i].command, (int)len, text,
                                 (long long)tail);
        }
}

/* -- kept output ------------------------------------------------------------------------------- */

static void
test_flood_is_bounded_and_counted(void **state)
{
        struct tools_stream out = { 0 }, err = { 0 };
        struct tools_output o = { &out, &err, 2, TOOLS_TOKENS };
        struct mcp_bytes text = { 0 };
        char line[32];

        (void)state;
        for (unsigned i = 1; i <= 1000000; i++) {
                int len = snprintf(line, sizeof line, "line %u\n", i);

                tools_stream_put(&out, line, (size_t)len);
                assert_true(out.bytes.room <= 4u * TOOLS_KEPT);
        }
        tools_text_command(&text, &o, 0, NULL);
        assert_string_equal(text.text,
                            "[showing last 2 of 1000000 lines]\nline 999999\nline 1000000\n");
        mcp_bytes_fini(&text);
        tools_stream_fini(&out);
}

/* A character that was cut is left out, not shown as a broken one. */
static void
test_cut_goes_through_no_character(void **state)
{
        struct tools_stream out = { 0 };
        struct mcp_bytes text = { 0 };

        (void)state;
        for (size_t i = 0; i < 2 * (size_t)TOOLS_KEPT; i += 3)
                tools_stream_put(&out, "\xe2\x82\xac", 3);
        tools_truncate(&text, &out, 0, INT64_C(1) << 40);
        assert_true(text.len > TOOLS_KEPT - 4);
        assert_null(strstr(text.text, "\xef\xbf\xbd"));
        mcp_bytes_fini(&text);
        tools_stream_fini(&out);
}

static void
test_not_utf8(void **state)
{
        struct tools_stream out = { 0 }, err = { 0 };
        struct tools_output o = { &out, &err, TOOLS_TAIL, TOOLS_TOKENS };
        struct mcp_bytes text = { 0 };

        (void)state;
        tools_stream_put(&out, "a\377b\303(\342\202 c\360\237\230", 12);
        tools_text_command(&text, &o, 0, NULL);
        assert_string_equal(text.text, "a\xef\xbf\xbd"
                                       "b\xef\xbf\xbd(\xef\xbf\xbd c\xef\xbf\xbd");
        mcp_bytes_fini(&text);
        tools_stream_fini(&out);
}

/* -- the other two tools ----------------------------------------------------------------------- */

static void
put(struct tools_stream *s, const char *text)
{
        tools_stream_put(s, text, strlen(text));
}

static void
test_process_and_kill(void **state)
{
        struct tools_stream out = { 0 }, err = { 0 };
        struct tools_output o = { &out, &err, TOOLS_TAIL, TOOLS_TOKENS };
        struct mcp_bytes text = { 0 };
        int exit_code = 3;

        (void)state;
        tools_text_process(&text, &o, NULL);
        assert_string_equal(text.text, "(no output yet)");
        mcp_bytes_fini(&text);
        tools_text_process(&text, &o, &exit_code);
        assert_string_equal(text.text, "(no output yet)");
        mcp_bytes_fini(&text);
        put(&out, "started\n");
        put(&err, "warn\n");
        tools_text_process(&text, &o, NULL);
        assert_string_equal(text.text, "stdout:\nstarted\n\n\nstderr:\nwarn\n");
        mcp_bytes_fini(&text);
        tools_text_killed(&text, "29434", &o);
        assert_string_equal(text.text, "Process 29434 has been killed.\n\n--- stdout (last output) "
                                       "---\nstarted\n\n\n--- stderr (last output) ---\nwarn\n");
        mcp_bytes_fini(&text);
        tools_stream_fini(&err);
        put(&out, "done\n");
        tools_text_process(&text, &o, &exit_code);
        assert_string_equal(text.text, "started\ndone\n\n\nExit code: 3");
        mcp_bytes_fini(&text);
        tools_text_command(&text, &o, 0, "the box is gone");
        assert_string_equal(text.text, "started\ndone\n\nError: the box is gone");
        mcp_bytes_fini(&text);
        tools_stream_fini(&out);
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_texts_are_mastras),
                cmocka_unit_test(test_tail_pipe),
                cmocka_unit_test(test_flood_is_bounded_and_counted),
                cmocka_unit_test(test_cut_goes_through_no_character),
                cmocka_unit_test(test_not_utf8),
                cmocka_unit_test(test_process_and_kill),
        };

        return cmocka_run_group_tests_name("mcp/tools_text", tests, NULL, NULL);
}
