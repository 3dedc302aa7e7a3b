/*
 * codec/codec_test.c - JSON, path and query to records, and back to JSON.
 */
#include "codec/codec.h"

#include <string.h>

#include "base/unit.h"

static _Alignas(16) unsigned char room[64 * 1024];

static int
read_call(enum operation_code op, const char *query, const char *body, struct record *ret,
          struct error *e)
{
        struct path_words path = { .list = { { .name = "id}", .value = "box" },
                                             { .name = "exec}", .value = "7" } },
                                   .count = 2 };
        struct codec_call call = { .operation = operation(op),
                                   .path = &path,
                                   .query = query,
                                   .body = body,
                                   .body_len = strlen(body) };
        struct record_writer w;
        struct arena arena;
        int result;

        record_init(&w, room, sizeof room);
        arena_init(&arena, 1 << 20);
        result = codec_read(&arena, &call, &w, NULL, e);
        arena_fini(&arena);
        *ret = (struct record){ w.bytes, w.len };
        return result;
}

static void
calls_are_read(void **state)
{
        struct record r;
        struct error e;

        assert_int_equal(read_call(OP_EXEC, "",
                                   "{\"argv\":[\"a\",\"b "
                                   "c\"],\"env\":{\"K\":\"v=w\"},\"tty\":true,\"rows\":24,"
                                   "\"input\":\"aGk=\",\"encoding\":\"base64\",\"cwd\":null}",
                                   &r, &e),
                         0);
        assert_string_equal(record_get_text(&r, FIELD_ID, ""), "box");
        assert_string_equal(record_get_text(&r, FIELD_ARGV, ""), "a");
        assert_string_equal(record_get_text(&r, FIELD_ENV, ""), "K=v=w");
        assert_int_equal(record_get_uint(&r, FIELD_ROWS, 0), 24);
        assert_true(record_get_bool(&r, FIELD_TTY, 0));
        assert_null(record_get_text(&r, FIELD_CWD, NULL));
        assert_int_equal(
                read_call(OP_EXEC_ATTACH, "stdout_offset=18446744073709&lossless", "", &r, &e), 0);
        assert_int_equal(record_get_uint(&r, FIELD_STDOUT_OFFSET, 0), 18446744073709);
        assert_int_equal(record_get_uint(&r, FIELD_EXEC, 0), 7);
        assert_true(record_get_bool(&r, FIELD_LOSSLESS, 0));
}

static void
wrong_calls_name_the_place(void **state)
{
        static const struct {
                enum operation_code op;
                const char *query, *body, *path, *reason, *words;
        } cases[] = {
                { OP_EXEC, "", "{\"argw\":[]}", "argw", "unknown_field", "did you mean argv?" },
                { OP_EXEC, "", "{\"cmd\":[]}", "cmd", "unknown_field", "did you mean argv?" },
                { OP_EXEC, "", "{\"zzzzzzzz\":1}", "zzzzzzzz", "unknown_field", "takes no" },
                { OP_EXEC, "", "{\"id\":\"other\"}", "id", "unknown_field", "" },
                { OP_EXEC, "", "{\"rows\":0}", "rows", "range", "1 to 65535" },
                { OP_EXEC, "", "{\"argv\":\"a\"}", "argv", "type", "an array" },
                { OP_EXEC, "", "{\"argv\":[1]}", "argv", "type", "a string" },
                { OP_EXEC, "", "{\"input\":\"%\",\"encoding\":\"base64\"}", "input", "base64", "" },
                { OP_EXEC, "", "{\"encoding\":\"rot13\"}", "encoding", "value", "" },
                { OP_FILE_READ, "", "", "path", "missing", "needs path" },
                { OP_FILE_READ, "path=a&path=b", "", "path", "repeated", "" },
                { OP_FILE_READ, "path=a&ofset=1", "", "ofset", "unknown_field",
                  "did you mean offset?" },
                { OP_FILE_READ, "path=a&offset=-1", "", "offset", "range",
                  "0 to 9007199254740991, not -1" },
                { OP_FILE_READ, "path=a&offset=99999999999999999999", "", "offset", "range",
                  "0 to 9007199254740991, not 99999999999999999999" },
                { OP_FILE_REMOVE, "path=a&recursive=maybe", "", "recursive", "type", "" },
                { OP_EXTEND, "", "{}", "duration_ms", "missing", "" },
                { OP_EXTEND, "", "{\"duration_ms\":9223372036854775808}", "duration_ms", "range",
                  "1 to 31536000000, not 9223372036854775808" },
                { OP_EXTEND, "", "{\"duration_ms\":1.5}", "duration_ms", "type", "not 1.5" },
                { OP_EXTEND, "", "{\"duration_ms\":-1}", "duration_ms", "range",
                  "1 to 31536000000, not -1" },
                { OP_EXTEND, "", "{\"duration_ms\":18446744073709551617}", "duration_ms", "range",
                  "1 to 31536000000" },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct record r;
                struct error e = { 0 };

                if (read_call(cases[i].op, cases[i].query, cases[i].body, &r, &e) != -1 ||
                    error_http_status(e.code) != 400 || strcmp(e.path, cases[i].path) != 0 ||
                    strcmp(e.reason, cases[i].reason) != 0 || !strstr(e.message, cases[i].words))
                        fail_msg("case %zu: at %s, %s: %s", i, e.path, e.reason, e.message);
        }
}

static void
a_command_of_words_is_argv(void **state)
{
        static const struct {
                const char *body, *hint;
        } rows[] = {
                { "{\"command\":[\"echo\",\"a\"]}", "{\"argv\": [\"echo\"" },
                { "{\"argv\":\"echo a\"}", "{\"command\": \"echo" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct record r;
                struct error e = { 0 };

                assert_int_equal(read_call(OP_EXEC, "", rows[i].body, &r, &e), -1);
                assert_non_null(strstr(error_hint_text(&e), rows[i].hint));
        }
}

static void
records_become_json(void **state)
{
        struct json_writer json;
        struct record_writer w;
        struct record r;
        size_t mark;

        record_init(&w, room, sizeof room);
        record_text(&w, FIELD_STATUS, "running");
        record_uint(&w, FIELD_PORTS, 80);
        record_text(&w, FIELD_ID, "a\xff");
        record_uint(&w, FIELD_PORTS, 90);
        record_json(&w, FIELD_METADATA, "{\"k\":[1,null]}");
        mark = record_open(&w, FIELD_WARNINGS);
        record_text(&w, FIELD_CODE, "c");
        record_close(&w, mark);
        r = (struct record){ w.bytes, w.len };
        json_init(&json, false);
        json_open_map(&json);
        codec_write(&json, operation(OP_GET), &r, 0);
        json_close_map(&json);
        assert_string_equal(json.text,
                            "{\"id\":\"a\xef\xbf\xbd\",\"status\":\"running\",\"ports\":[80,90],"
                            "\"metadata\":{\"k\":[1,null]},\"warnings\":[{\"code\":\"c\"}]}");
        json_fini(&json);
}

static void
flags_of_a_query_are_words(void **state)
{
        static const struct {
                const char *query;
                bool was, is;
                int result;
        } cases[] = {
                { "", true, true, 0 },
                { "waits=no", true, true, 0 },
                { "wait", false, true, 0 },
                { "a=1&wait=", false, true, 0 },
                { "wait=1&b", false, true, 0 },
                { "wait=true", false, true, 0 },
                { "wait=0", true, false, 0 },
                { "wait=false", true, false, 0 },
                { "wait=%31", false, true, 0 },
                { "wait=maybe", true, true, -1 },
                { "wait=10", true, true, -1 },
                { "wait=truer", true, true, -1 },
                { "wait=%", true, true, -1 },
                { "wait=no", true, true, -1 },
                { "wait=false", false, false, 0 },
                { "wait=falsefalsefalse", true, true, -1 },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                bool is = cases[i].was;
                struct error e;

                assert_int_equal(codec_query_bool(cases[i].query, "wait", &is, &e),
                                 cases[i].result);
                assert_int_equal(is, cases[i].is);
                if (cases[i].result < 0)
                        assert_string_equal(e.path, "wait");
        }
}

static void
a_wrong_type_gives_a_clear_error(void **state)
{
        static const struct {
                const char *body, *message;
        } rows[] = {
                { "{\"timeout_ms\":-5}",
                  "timeout_ms must be a whole number, 1 to 31536000000, not -5" },
                { "{\"timeout_ms\":\"5\"}",
                  "timeout_ms must be a whole number, 1 to 31536000000, not a string" },
                { "{\"name\":5}", "name must be a string, not an integer" },
                { "{\"ports\":1}", "ports must be an array, not an integer" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct codec_call call = { .operation = operation(OP_CREATE),
                                           .body = rows[i].body,
                                           .body_len = strlen(rows[i].body) };
                unsigned char bytes[1024] __attribute__((aligned(8)));
                struct record_writer w;
                struct arena arena;
                struct error e;

                arena_init(&arena, 1 << 20);
                record_init(&w, bytes, sizeof bytes);
                assert_int_equal(codec_read(&arena, &call, &w, NULL, &e), -1);
                assert_string_equal(e.message, rows[i].message);
                arena_fini(&arena);
        }
}

/* A field that an operation gives as a list is one in every record, however many entries it has. */
static void
one_entry_of_a_list_is_a_list(void **state)
{
        static unsigned char bytes[256] __attribute__((aligned(8)));
        const struct operation *o;
        size_t at = 0;

        (void)state;
        while ((o = operation_next(&at)) != NULL)
                for (size_t i = 0; o->result && i < o->result->count; i++) {
                        const struct api_field *f = api_field(o->result->members[i].tag);
                        struct record_writer w;
                        struct json_writer out;
                        struct record r;

                        if ((o->result->members[i].flags & PARAM_REPEATED) == 0)
                                continue;
                        record_init(&w, bytes, sizeof bytes);
                        if (f->type == FIELD_TYPE_NESTED)
                                record_close(&w, record_open(&w, f->tag));
                        else if (f->type == FIELD_TYPE_UINT)
                                record_uint(&w, f->tag, 1);
                        else
                                record_text(&w, f->tag, "x");
                        r = (struct record){ bytes, w.len };
                        json_init(&out, false);
                        json_open_map(&out);
                        codec_write_all(&out, &r, 0);
                        json_close_map(&out);
                        assert_non_null(strstr(out.text, "\":["));
                        json_fini(&out);
                }
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(calls_are_read),
                                            cmocka_unit_test(flags_of_a_query_are_words),
                                            cmocka_unit_test(wrong_calls_name_the_place),
                                            cmocka_unit_test(a_command_of_words_is_argv),
                                            cmocka_unit_test(a_command_of_words_is_argv),
                                            cmocka_unit_test(a_wrong_type_gives_a_clear_error),
                                            cmocka_unit_test(one_entry_of_a_list_is_a_list),
                                            cmocka_unit_test(records_become_json) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
