/* text/json_test.c - what text/json.h promises, for reading and writing. */
#include "base/unit.h"
#include "text/json.h"

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct arena arena;
static struct error error;
static const struct node *root;

static int
read_text(const char *bytes, size_t len)
{
        char *exact = malloc(len > 0 ? len : 1);
        int result;

        assert_non_null(exact);
        if (len > 0)
                memcpy(exact, bytes, len);
        arena_fini(&arena);
        arena_init(&arena, 16u << 20);
        error = (struct error){ 0 };
        root = NULL;
        result = json_read(&arena, exact, len, &text_limits_manifest, &root, &error);
        free(exact);
        return result;
}

static void
reads_values_with_their_places(void **state)
{
        static const char text[] = "{\r\n"
                                   "  \"z\": [1, -2.5,\"\xc3\xa9\\n\\\"\" , true],\n"
                                   "  \"a\\u00e9\" : {\"x\":null},\n"
                                   "  \"m\": []\n"
                                   "}\n";
        const struct node *n;

        (void)state;
        assert_int_equal(read_text(text, sizeof text - 1), 0);
        assert_int_equal(root->kind, NODE_MAP);
        assert_int_equal(root->len, 3);
        assert_int_equal(root->line, 1);
        n = root->first; /* the order of the file, not of the alphabet */
        assert_string_equal(n->key, "z");
        assert_int_equal(n->key_line, 2);
        assert_int_equal(n->key_column, 3);
        assert_int_equal(n->line, 2);
        assert_int_equal(n->column, 8);
        assert_int_equal(node_at(n, 0)->integer, 1);
        assert_int_equal(node_at(n, 1)->kind, NODE_FLOAT);
        assert_true(node_at(n, 1)->real == -2.5);
        assert_string_equal(node_at(n, 1)->text, "-2.5");
        assert_int_equal(node_at(n, 1)->column, 12);
        assert_true(node_is_text(node_at(n, 2), "\xc3\xa9\n\""));
        assert_int_equal(node_at(n, 3)->kind, NODE_BOOL);
        assert_true(node_at(n, 3)->boolean);
        assert_int_equal(node_at(n, 3)->column, 28);
        n = node_find(root, "a\xc3\xa9");
        assert_int_equal(n->line, 3);
        assert_int_equal(node_find(n, "x")->kind, NODE_NULL);
        assert_int_equal(node_find(n, "x")->key_column, 16);
        assert_int_equal(node_find(root, "m")->len, 0);
        assert_int_equal(node_find(root, "m")->line, 4);
}

static void
reads_numbers_exactly(void **state)
{
        static const struct {
                const char *text;
                enum node_kind kind;
                int64_t integer;
                double real;
        } cases[] = {
                { "0", NODE_INT, 0, 0 },
                { "-0", NODE_INT, 0, 0 },
                { "9223372036854775807", NODE_INT, INT64_MAX, 9223372036854775807.0 },
                { "-9223372036854775808", NODE_INT, INT64_MIN, -9223372036854775808.0 },
                { "9007199254740993", NODE_INT, 9007199254740993, 9007199254740992.0 },
                { "9223372036854775808", NODE_FLOAT, 0, 9223372036854775808.0 },
                { "18446744073709551616", NODE_FLOAT, 0, 18446744073709551616.0 },
                { "1.0", NODE_FLOAT, 0, 1 },
                { "1e3", NODE_FLOAT, 0, 1000 },
                { "-1.5E-3", NODE_FLOAT, 0, -0.0015 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                if (read_text(cases[i].text, strlen(cases[i].text)) != 0)
                        fail_msg("%s: %s", cases[i].text, error.message);
                assert_int_equal(root->kind, cases[i].kind);
                assert_true(root->integer == cases[i].integer);
                assert_true(root->real == cases[i].real);
        }
}

#define BYTES(text) (text), sizeof(text) - 1

static void
refuses_what_is_no_json(void **state)
{
        static const struct {
                const char *bytes;
                size_t len;
                const char *reason;
                unsigned line, column;
        } cases[] = {
                { BYTES(""), "empty", 1, 1 },
                { BYTES(" \r\n\t"), "empty", 1, 1 },
                { BYTES("{\"a\":1,\n \"a\":2}"), "duplicate_key", 2, 2 },
                { BYTES("{\"a\":1,\"\\u0061\":2}"), "duplicate_key", 1, 8 },
                { BYTES("\xef\xbb\xbf{}"), "json", 1, 1 },
                { BYTES("\xff\xfe{\0}\0"), "json", 1, 1 },
                { BYTES("{\0}\0"), "json", 1, 2 },
                { BYTES("123\0"), "json", 1, 4 },
                { BYTES("{\"a\":\"x\\u0000y\"}"), "json", 0, 0 },
                { BYTES("{\"a\\u0000\":1}"), "json", 0, 0 },
                { BYTES("\"\xc0\x80\""), "json", 1, 2 },
                { BYTES("\"\xed\xa0\x80\""), "json", 1, 2 },
                { BYTES("\"\\ud800\""), "json", 0, 0 },
                { BYTES("\"\\udc00\\ud800\""), "json", 0, 0 },
                { BYTES("\"a\nb\""), "json", 0, 0 },
                { BYTES("{\"a\":\n x}"), "json", 2, 2 },
                { BYTES("{\"a\":1,}"), "json", 1, 8 },
                { BYTES("[1,]"), "json", 1, 4 },
                { BYTES("[01]"), "json", 0, 0 },
                { BYTES("[0x10]"), "json", 0, 0 },
                { BYTES("[1_000]"), "json", 0, 0 },
                { BYTES("[+1]"), "json", 0, 0 },
                { BYTES("[NaN]"), "json", 0, 0 },
                { BYTES("[.5]"), "json", 0, 0 },
                { BYTES("[1e309]"), "json", 0, 0 },
                { BYTES("{'a':1}"), "json", 1, 2 },
                { BYTES("{a:1}"), "json", 1, 2 },
                { BYTES("{\"a\":1} x"), "json", 1, 9 },
                { BYTES("{} {}"), "json", 0, 0 },
                { BYTES("[1] // c"), "json", 0, 0 },
                { BYTES("[1"), "json", 0, 0 },
                { BYTES("\"x"), "json", 0, 0 },
                { BYTES("}"), "json", 1, 1 },
                { BYTES("]]]]"), "json", 1, 1 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                if (read_text(cases[i].bytes, cases[i].len) == 0)
                        fail_msg("accepted: %s", cases[i].bytes);
                if (error.code != ERROR_MANIFEST_SYNTAX ||
                    strcmp(error.reason, cases[i].reason) != 0 ||
                    (cases[i].line > 0 &&
                     (error.line != cases[i].line || error.column != cases[i].column)))
                        fail_msg("%s: %s at %u:%u (%s)", cases[i].bytes, error.reason, error.line,
                                 error.column, error.message);
                if (strstr(cases[i].bytes, "\\u0000") && !strstr(error.message, "U+0000"))
                        fail_msg("%s: %s", cases[i].bytes, error.message);
                assert_null(root);
        }
}

static void
never_quotes_the_input(void **state)
{
        static const char text[] = "{\"api_key\" \"sk-live-CANARY\"}";

        (void)state;
        assert_int_equal(read_text(text, sizeof text - 1), -1);
        assert_null(strstr(error.message, "CANARY"));
        assert_int_equal(read_text("[sk_CANARY]", 11), -1);
        assert_null(strstr(error.message, "CANARY"));
}

enum {
        /* a busy machine makes some runs slow, not all; a quadratic reader is slow in each run */
        TRIES = 5
};

static void
ends_hostile_texts_soon(void **state)
{
        static const struct {
                const char *head, *unit;
                size_t count;
                const char *tail, *reason;
        } cases[] = {
                { "", "[", 100000, "", "too_large" },      { "", "[", 300000, "", "too_large" },
                { "", "{\"a\":", 20000, "", "too_large" }, { "[1", ",1", 16384, "]", "too_large" },
                { "\"", "a", 262143, "\"", "too_large" },  { "[\"", "\\\"", 90000, "", "json" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                size_t unit_len = strlen(cases[i].unit), len = strlen(cases[i].head);
                char *text = calloc(1, len + unit_len * cases[i].count + strlen(cases[i].tail) + 1);
                clock_t start, took = CLOCKS_PER_SEC;

                assert_non_null(text);
                memcpy(text, cases[i].head, len);
                for (size_t k = 0; k < cases[i].count; k++, len += unit_len)
                        memcpy(text + len, cases[i].unit, unit_len);
                memcpy(text + len, cases[i].tail, strlen(cases[i].tail));
                len += strlen(cases[i].tail);
                for (int tries = 0; took >= CLOCKS_PER_SEC / 2 && tries < TRIES; tries++) {
                        start = clock();
                        assert_int_equal(read_text(text, len), -1);
                        took = clock() - start;
                }
                if (strcmp(error.reason, cases[i].reason) != 0)
                        fail_msg("%s...: %s (%s)", cases[i].unit, error.reason, error.message);
                assert_true(took < CLOCKS_PER_SEC / 2);
                /* Carrel's own limit, before jansson has recursed 2048 times */
                if (*cases[i].unit == '[' && cases[i].count == 100000)
                        assert_int_equal(error.column, 33);
                /* at a comma, before jansson gets the text */
                if (cases[i].count == 16384)
                        assert_int_equal(error.column, 3 + 2 * 16383);
                free(text);
        }
}

static void
stands_on_its_limits_exactly(void **state)
{
        static const struct text_limits small = { 16, 3, 4 };
        static const struct {
                const char *text;
                int result;
        } cases[] = {
                { "[[[]]]", 0 },
                { "[[[[]]]]", -1 },
                { "[1,2,3]", 0 },
                { "[1,2,3,4]", -1 },
                { "[1,2,3,4,5]", -1 },
                { "{\"a\":{\"b\":{}}}", 0 },
                { "{\"a\":[[\",,,,\"]]}", 0 },
                { "{\"a\":[[\",,,,,\"]]}", -1 },
                { "\"[[[[,,,,\"", 0 },
                { "\"\\\"[[[[,,,,\"", 0 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                arena_fini(&arena);
                arena_init(&arena, 1u << 20);
                error = (struct error){ 0 };
                if (json_read(&arena, cases[i].text, strlen(cases[i].text), &small, &root,
                              &error) != cases[i].result)
                        fail_msg("%s: %s", cases[i].text, error.message);
                if (cases[i].result < 0)
                        assert_string_equal(error.reason, "too_large");
        }
}

static void
says_when_memory_ends_at_any_point(void **state)
{
        static const char text[] = "{\"a\": [1, 2, {\"b\": \"c\"}], \"d\": true}";
        bool was_read = false;

        (void)state;
        for (size_t limit = 0; limit < 8192 && !was_read; limit += 8) {
                arena_fini(&arena);
                arena_init(&arena, limit);
                error = (struct error){ 0 };
                was_read = json_read(&arena, text, sizeof text - 1, &text_limits_manifest, &root,
                                     &error) == 0;
                if (!was_read)
                        assert_int_equal(error.code, ERROR_NO_MEMORY);
        }
        assert_true(was_read);
}

/* -- writing ----------------------------------------------------------------------------------- */

static void
write_sample(struct json_writer *w)
{
        json_open_map(w);
        json_member_text(w, "name", "x");
        json_member_text(w, "none", NULL);
        json_key(w, "list");
        json_open_list(w);
        json_int(w, INT64_MIN);
        json_uint(w, UINT64_MAX);
        json_open_map(w);
        json_close_map(w);
        json_open_list(w);
        json_close_list(w);
        json_close_list(w);
        json_member_bool(w, "yes", true);
        json_member_int(w, "n", -1);
        json_key(w, "deep");
        json_open_map(w);
        json_key(w, "r");
        json_double(w, 0.1);
        json_close_map(w);
        json_close_map(w);
}

static void
puts_commas_and_lines_where_they_belong(void **state)
{
        struct json_writer w;

        (void)state;
        json_init(&w, false);
        write_sample(&w);
        assert_false(w.is_broken);
        assert_string_equal(
                w.text, "{\"name\":\"x\",\"none\":null,\"list\":[-9223372036854775808,"
                        "18446744073709551615,{},[]],\"yes\":true,\"n\":-1,\"deep\":{\"r\":0.1}}");
        assert_int_equal(w.len, strlen(w.text));
        json_fini(&w);
        json_init(&w, true);
        write_sample(&w);
        assert_string_equal(w.text, "{\n"
                                    "  \"name\": \"x\",\n"
                                    "  \"none\": null,\n"
                                    "  \"list\": [\n"
                                    "    -9223372036854775808,\n"
                                    "    18446744073709551615,\n"
                                    "    {},\n"
                                    "    []\n"
                                    "  ],\n"
                                    "  \"yes\": true,\n"
                                    "  \"n\": -1,\n"
                                    "  \"deep\": {\n"
                                    "    \"r\": 0.1\n"
                                    "  }\n"
                                    "}");
        json_fini(&w);
        json_fini(NULL);
}

/*
 * The result is the same for every buffer size from the minimum on, with as many calls as needed.
 */
static void
escapes_in_pieces(void **state)
{
        static const char bytes[] = "plain \1\2\"\\ \xe2\x80\xae\xc3\xa9\xf0\x9f\x98\x80 "
                                    "\xff\xe2\x82 and more of it \n";
        char whole[512], pieces[512];
        size_t taken, whole_len = json_escape(bytes, sizeof bytes - 1, whole, sizeof whole, &taken);

        (void)state;
        assert_int_equal(taken, sizeof bytes - 1);
        for (size_t room = JSON_ESCAPE_MAX; room < 80; room++) {
                size_t used = 0, at = 0;

                while (at < sizeof bytes - 1) {
                        size_t len = json_escape(bytes + at, sizeof bytes - 1 - at, pieces + used,
                                                 room, &taken);

                        assert_true(taken > 0 && len <= room);
                        used += len;
                        at += taken;
                }
                assert_int_equal(used, whole_len);
                assert_memory_equal(pieces, whole, used);
        }
}

/* Expected texts are what Python's b'...'.decode(errors='replace') gives. */
static void
writes_any_bytes_as_a_string(void **state)
{
#define R "\xef\xbf\xbd"
        static const struct {
                const char *bytes;
                size_t len;
                const char *expected;
        } cases[] = {
                { BYTES(""), "\"\"" },
                { BYTES("a\"b\\c/"), "\"a\\\"b\\\\c/\"" },
                { BYTES("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"" },
                { BYTES("\0\1\x1b\x1f\x7f"), "\"\\u0000\\u0001\\u001b\\u001f\\u007f\"" },
                { BYTES("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
                  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
                { BYTES("\xe2\x80\xa8\xe2\x80\xa9"), "\"\\u2028\\u2029\"" },
                { BYTES("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0"), "\"\\u0080\\u009b\\u009f\xc2\xa0\"" },
                { BYTES("\xd8\x9c\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f"),
                  "\"\\u061c\xe2\x80\x8d\\u200e\\u200f\"" },
                { BYTES("\xe2\x80\xaa\xe2\x80\xae\xe2\x80\xaf"), "\"\\u202a\\u202e\xe2\x80\xaf\"" },
                { BYTES("\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa"),
                  "\"\xe2\x81\xa5\\u2066\\u2069\xe2\x81\xaa\"" },
                { BYTES("\xc0\x80"), "\"" R R "\"" },
                { BYTES("\xed\xa0\x80"), "\"" R R R "\"" },
                { BYTES("\xf8\x88\x80\x80\x80"), "\"" R R R R R "\"" },
                { BYTES("x\xe2\x82"), "\"x" R "\"" },
                { BYTES("x\xf0\x9f\x98"
                        "y"),
                  "\"x" R "y\"" },
                { BYTES("\xf4\x90\x80\x80"), "\"" R R R R "\"" },
                { BYTES("\n{\"seq\":1}"), "\"\\n{\\\"seq\\\":1}\"" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct json_writer w;

                json_init(&w, false);
                json_bytes(&w, cases[i].bytes, cases[i].len);
                assert_string_equal(w.text, cases[i].expected);
                json_fini(&w);
        }
}

/* Every pair of bytes: jansson accepts the result, and it contains no control character. */
static void
writes_json_whatever_the_bytes(void **state)
{
        (void)state;
        for (unsigned pair = 0; pair < 65536; pair++) {
                char bytes[2] = { (char)(pair >> 8), (char)pair };
                struct json_writer w;
                json_t *value;

                json_init(&w, false);
                json_bytes(&w, bytes, 2);
                value = json_loadb(w.text, w.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
                if (!value)
                        fail_msg("pair %04x: %s", pair, w.text);
                for (size_t i = 0; i < w.len; i++)
                        assert_true((unsigned char)w.text[i] >= 0x20 && w.text[i] != 0x7f);
                json_decref(value);
                json_fini(&w);
        }
}

static void
writes_reals_that_read_back(void **state)
{
        static const double values[] = { 0,       0.1,     1.0 / 3, 1e21, 1e-300,
                                         DBL_MAX, DBL_MIN, 5e-324,  -2.5, 123456789.125 };
        struct json_writer w;

        (void)state;
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
                json_init(&w, false);
                json_double(&w, values[i]);
                assert_true(strtod(w.text, NULL) == values[i]);
                json_fini(&w);
        }
        json_init(&w, false);
        json_open_list(&w);
        json_double(&w, NAN);
        json_double(&w, -INFINITY);
        json_double(&w, 1);
        json_double(&w, -0.0);
        json_double(&w, 1e21);
        json_close_list(&w);
        assert_string_equal(w.text, "[null,null,1.0,-0.0,1e+21]");
        json_fini(&w);
}

static void
writes_a_tree_as_it_was_read(void **state)
{
        static const char text[] = "{\"z\":[1,-2.5,\"\xc3\xa9\\n\\\"\",true,null],\"a\":{\"x\":{},"
                                   "\"y\":[[]]},\"m\":false}";
        struct json_writer w;

        (void)state;
        assert_int_equal(read_text(text, sizeof text - 1), 0);
        json_init(&w, false);
        json_node(&w, root);
        assert_string_equal(w.text, text);
        json_fini(&w);
}

static void
stays_broken_once_it_could_not_grow(void **state)
{
        struct json_writer w;

        (void)state;
        json_init(&w, false);
        json_open_list(&w);
        json_bytes(&w, "x", 1);
        w.is_broken = true;
        json_text(&w, "y");
        json_close_list(&w);
        assert_true(w.is_broken);
        assert_string_equal(w.text, "[\"x\"");
        json_fini(&w);
}

static int
let_go(void **state)
{
        (void)state;
        arena_fini(&arena);
        return 0;
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reads_values_with_their_places),
                cmocka_unit_test(reads_numbers_exactly),
                cmocka_unit_test(refuses_what_is_no_json),
                cmocka_unit_test(never_quotes_the_input),
                cmocka_unit_test(ends_hostile_texts_soon),
                cmocka_unit_test(stands_on_its_limits_exactly),
                cmocka_unit_test(says_when_memory_ends_at_any_point),
                cmocka_unit_test(puts_commas_and_lines_where_they_belong),
                cmocka_unit_test(writes_any_bytes_as_a_string),
                cmocka_unit_test(escapes_in_pieces),
                cmocka_unit_test(writes_json_whatever_the_bytes),
                cmocka_unit_test(writes_reals_that_read_back),
                cmocka_unit_test(writes_a_tree_as_it_was_read),
                cmocka_unit_test(stays_broken_once_it_could_not_grow),
        };

        return cmocka_run_group_tests(tests, NULL, let_go);
}
