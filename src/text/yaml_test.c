/* text/yaml_test.c - what text/yaml.h promises, and what it must refuse. */
#include "base/unit.h"
#include "text/yaml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text/scalar.h"

static struct arena arena;
static struct error error;
static const struct node *root;

static int
read_text(const char *bytes, size_t len)
{
        /* A copy of exactly this length, so that a sanitizer reports a read past its end. */
        char *exact = malloc(len > 0 ? len : 1);
        int result;

        assert_non_null(exact);
        if (len > 0)
                memcpy(exact, bytes, len);
        arena_fini(&arena);
        arena_init(&arena, 16u << 20);
        error = (struct error){ 0 };
        root = NULL;
        result = yaml_read(&arena, exact, len, 1, &text_limits_manifest, &root, &error);
        free(exact);
        return result;
}

static void
must_refuse(const char *bytes, size_t len, const char *reason, unsigned line, unsigned column)
{
        if (read_text(bytes, len) == 0)
                fail_msg("accepted: %.60s", bytes);
        if (error.code != ERROR_MANIFEST_SYNTAX || strcmp(error.reason, reason) != 0 ||
            (line > 0 && (error.line != line || error.column != column)))
                fail_msg("%.60s: %s at %u:%u (%s), not %s at %u:%u", bytes, error.reason,
                         error.line, error.column, error.message, reason, line, column);
        assert_null(root);
}

static void
resolves_plain_scalars_by_the_core_schema(void **state)
{
        static const struct {
                const char *text;
                enum node_kind kind;
                int64_t integer;
                double real;
        } cases[] = {
                { "null", NODE_NULL, 0, 0 },
                { "~", NODE_NULL, 0, 0 },
                { "Null", NODE_NULL, 0, 0 },
                { "NULL", NODE_NULL, 0, 0 },
                { "nULL", NODE_STRING, 0, 0 },
                { "true", NODE_BOOL, 1, 0 },
                { "True", NODE_BOOL, 1, 0 },
                { "TRUE", NODE_BOOL, 1, 0 },
                { "false", NODE_BOOL, 0, 0 },
                { "FALSE", NODE_BOOL, 0, 0 },
                { "tRUE", NODE_STRING, 0, 0 },
                { "yes", NODE_STRING, 0, 0 },
                { "no", NODE_STRING, 0, 0 },
                { "on", NODE_STRING, 0, 0 },
                { "y", NODE_STRING, 0, 0 },
                { "off", NODE_STRING, 0, 0 },
                { "0", NODE_INT, 0, 0 },
                { "-0", NODE_INT, 0, 0 },
                { "012", NODE_INT, 12, 12 },
                { "+7", NODE_INT, 7, 7 },
                { "0o14", NODE_INT, 12, 12 },
                { "0x1F", NODE_INT, 31, 31 },
                { "0xfg", NODE_STRING, 0, 0 },
                { "0o8", NODE_STRING, 0, 0 },
                { "0x", NODE_STRING, 0, 0 },
                { "-0x1", NODE_STRING, 0, 0 },
                { "0b1", NODE_STRING, 0, 0 },
                { "1_000", NODE_STRING, 0, 0 },
                { "60:30", NODE_STRING, 0, 0 },
                { "1.2.3", NODE_STRING, 0, 0 },
                { "+", NODE_STRING, 0, 0 },
                { "9223372036854775807", NODE_INT, INT64_MAX, 9223372036854775807.0 },
                { "-9223372036854775808", NODE_INT, INT64_MIN, -9223372036854775808.0 },
                { "9223372036854775808", NODE_FLOAT, 0, 9223372036854775808.0 },
                { "18446744073709551617", NODE_FLOAT, 0, 18446744073709551616.0 },
                { "0x10000000000000000", NODE_FLOAT, 0, 18446744073709551616.0 },
                { "9007199254740993", NODE_INT, 9007199254740993, 9007199254740992.0 },
                { "1.0", NODE_FLOAT, 0, 1 },
                { "1.", NODE_FLOAT, 0, 1 },
                { ".5", NODE_FLOAT, 0, .5 },
                { "-1.5e-3", NODE_FLOAT, 0, -0.0015 },
                { "1e3", NODE_FLOAT, 0, 1000 },
                { "1e", NODE_STRING, 0, 0 },
                { ".", NODE_STRING, 0, 0 },
                { "e3", NODE_STRING, 0, 0 },
                { "inf", NODE_STRING, 0, 0 },
                { "nan", NODE_STRING, 0, 0 },
                { "infinity", NODE_STRING, 0, 0 },
                { "0x1p3", NODE_STRING, 0, 0 },
                { "30s", NODE_STRING, 0, 0 },
                { "2001-01-01", NODE_STRING, 0, 0 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct node n = { .text = cases[i].text, .len = strlen(cases[i].text) };

                scalar_resolve(&n);
                if (n.kind != cases[i].kind)
                        fail_msg("%s: %s", cases[i].text, node_kind_name(n.kind));
                if (n.kind == NODE_BOOL)
                        assert_int_equal(n.boolean, cases[i].integer);
                if (n.kind == NODE_INT)
                        assert_true(n.integer == cases[i].integer);
                if (n.kind == NODE_INT || n.kind == NODE_FLOAT)
                        assert_true(n.real == cases[i].real);
        }
}

static void
resolves_the_numbers_that_are_none(void **state)
{
        struct node n = { .text = "-.INF" };

        (void)state;
        scalar_resolve(&n);
        assert_true(n.kind == NODE_FLOAT && n.real < -1e308);
        n = (struct node){ .text = ".nan" };
        scalar_resolve(&n);
        assert_true(n.kind == NODE_FLOAT && isnan(n.real));
        n = (struct node){ .text = "1e999" };
        scalar_resolve(&n);
        assert_true(n.kind == NODE_FLOAT && n.real > 1e308);
}

static void
keeps_order_and_places(void **state)
{
        static const char text[] = "# a policy\r\n"
                                   "provider: local\r\n"
                                   "\"\xc3\xa9t\xc3\xa9\": {a: \xc3\xa9, b: '5'}\n"
                                   "network:\n"
                                   "  egress: [x.test,\n"
                                   "    \"*.y.test\"]\n"
                                   "note: |\n"
                                   "  one\n"
                                   "  two\n"
                                   "none:\n";
        const struct node *n;

        (void)state;
        assert_int_equal(read_text(text, sizeof text - 1), 0);
        assert_int_equal(root->kind, NODE_MAP);
        assert_int_equal(root->len, 5);
        assert_int_equal(root->line, 2);
        n = node_find(root, "provider");
        assert_true(node_is_text(n, "local"));
        assert_int_equal(n->line, 2);
        assert_int_equal(n->column, 11);
        assert_int_equal(n->key_line, 2);
        assert_int_equal(n->key_column, 1);
        n = node_find(node_find(root, "\xc3\xa9t\xc3\xa9"), "b");
        assert_true(node_is_text(n, "5")); /* quoted: a string */
        assert_int_equal(n->line, 3);
        assert_int_equal(n->column, 21); /* in bytes */
        assert_int_equal(n->key_column, 18);
        n = node_find(node_find(root, "network"), "egress");
        assert_int_equal(n->kind, NODE_LIST);
        assert_int_equal(n->len, 2);
        assert_true(node_is_text(node_at(n, 1), "*.y.test"));
        assert_null(node_at(n, 1)->key);
        assert_int_equal(node_at(n, 1)->line, 6);
        assert_int_equal(node_at(n, 1)->column, 5);
        assert_null(node_at(n, 2));
        assert_true(node_is_text(node_find(root, "note"), "one\ntwo\n"));
        n = node_find(root, "none");
        assert_int_equal(n->kind, NODE_NULL);
        assert_int_equal(n->key_line, 10);
        assert_null(node_find(root, "nothing"));
        assert_null(node_find(NULL, "nothing"));
}

static void
accepts_what_may_surround_a_document(void **state)
{
        static const char *const cases[] = {
                "---\na: 1\n", "--- {a: 1}",       "a: 1\n...\n", "# c\n\n---\na: 1\n...\n# c\n",
                "a: 1 # c",    "\n\n  {a: 1}\n\n", "{\"a\":1}",   "'a': 1",
                "? a\n: 1\n",  "a: 1\n...\n...\n",
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                if (read_text(cases[i], strlen(cases[i])) != 0)
                        fail_msg("%s: %s", cases[i], error.message);
                assert_int_equal(node_find(root, "a")->integer, 1);
        }
}

static void
refuses_what_can_mean_two_things(void **state)
{
        static const struct {
                const char *text, *reason;
                unsigned line, column;
        } cases[] = {
                { "a: 1\nb: 2\na: 3\n", "duplicate_key", 3, 1 },
                { "a: 1\n\"a\": 3\n", "duplicate_key", 2, 1 },
                { "x: {b: 1, 'b': 2}", "duplicate_key", 1, 11 },
                { "x: [{b: 1}, {c: 1, d: 1, c: 2}]", "duplicate_key", 1, 26 },
                { "a: &x 1\nb: *x\n", "alias_forbidden", 1, 4 },
                { "a: &x {b: 1}\n", "alias_forbidden", 1, 4 },
                { "a: &x [*x]\n", "alias_forbidden", 1, 4 },
                { "b: [1, *x]\n", "alias_forbidden", 1, 8 },
                { "*x : 1\n", "alias_forbidden", 1, 1 },
                { "&a a: 1\n", "alias_forbidden", 1, 1 },
                { "a: !!str 1\n", "tag_forbidden", 1, 4 },
                { "a: ! 1\n", "tag_forbidden", 1, 4 },
                { "a: ! \"1\"\n", "tag_forbidden", 1, 4 },
                { "a: !x {}\n", "tag_forbidden", 1, 4 },
                { "a: ! []\n", "tag_forbidden", 1, 4 },
                { "a: !\n", "tag_forbidden", 1, 4 },
                { "!!str a: 1\n", "tag_forbidden", 1, 1 },
                { "! a: 1\n", "tag_forbidden", 1, 1 },
                { "a: !e!x 1\n", "tag_forbidden", 1, 4 },
                { "a: !<tag:yaml.org,2002:str> 1\n", "tag_forbidden", 1, 4 },
                { "a: !!python/name:os.system local\n", "tag_forbidden", 1, 4 },
                { "a: !!binary aGk=\n", "tag_forbidden", 1, 4 },
                { "<<: {a: 1}\n", "merge_key", 1, 1 },
                { "a: 1\n<<: *x\n", "merge_key", 2, 1 },
                { "1: a\n", "non_string_key", 1, 1 },
                { "x:\n  true: a\n", "non_string_key", 2, 3 },
                { "null: a\n", "non_string_key", 1, 1 },
                { "~: a\n", "non_string_key", 1, 1 },
                { "{? : a}\n", "non_string_key", 0, 0 },
                { ": a\n", "yaml", 1, 1 },
                { "1.5: a\n", "non_string_key", 1, 1 },
                { "? [a]\n: b\n", "non_string_key", 1, 3 },
                { "{{a: 1}: b}\n", "non_string_key", 1, 2 },
                { "a: 1\n---\nb: 1\n", "multi_document", 2, 1 },
                { "---\n---\n", "empty", 0, 0 },
                { "a: 1\n---\n", "multi_document", 2, 1 },
                { "a: 1\n...\n---\nb: 1\n", "multi_document", 3, 1 },
                { "a: 1\n...\nb: 1\n", "yaml", 3, 1 },
                { "a: 1\n...\n%TAG ! x\n---\nb: 1\n", "multi_document", 3, 1 },
                { "%YAML 1.2\n---\na: 1\n", "yaml", 1, 1 },
                { "# c\n%TAG ! tag:x,2000:\n---\na: 1\n", "yaml", 2, 1 },
                { "%FOO\n---\na: 1\n", "yaml", 1, 1 },
                { "", "empty", 1, 1 },
                { "# only a comment", "empty", 1, 1 },
                { "\n\n", "empty", 1, 1 },
                { "---\n", "empty", 0, 0 },
                { "...\n", "empty", 0, 0 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                must_refuse(cases[i].text, strlen(cases[i].text), cases[i].reason, cases[i].line,
                            cases[i].column);
}

static void
says_where_the_scanner_stumbled(void **state)
{
        static const char quote_host[] = "Quote it: write \"*.example.com\", with the quotes.";
        static const char quote_slug[] =
                "Quote it: write \"@npm\" or \"@owner/slug\", with the quotes.";
        static const struct {
                const char *text;
                unsigned line, column;
                const char *hint;
        } cases[] = {
                { "network: {egress: [*.anthropic.com]}\n", 1, 20, quote_host },
                { "a: 1\negress:\n  - *.x.test\n", 3, 5, quote_host },
                { "egress: [*]\n", 1, 10, quote_host },
                { "\xc3\xa9: 1\nref: @acme/x\n", 2, 6, quote_slug },
                { "a: `x`\n", 1, 4, NULL },
                { "a: %x\n", 1, 4, NULL },
                { "a:\n\tb: 1\n", 2, 1, "Indent with spaces: two for each level." },
                { "x: 1\na: [1, 2\nb: 1\n", 3, 2,
                  "Close the `[` of line 2 with a `]`, and put a comma between its entries." },
                { "a: {b: 1\nc: 2\n", 2, 2,
                  "Close the `{` of line 1 with a `}`, and put a comma between its members." },
                { "a: \"x\n", 2, 1, "Close the quote that begins on line 1." },
                { "a: b: c\n", 1, 5,
                  "Put quotes around a value that holds `: `, or check the indentation of this "
                  "line." },
                { "a:\n   b: 1\n  c: 2\n", 3, 3,
                  "Check its indentation: the fields of one map begin in the same column. A value "
                  "that begins with a quote ends with it." },
                { "a: 1\nb\n", 3, 1, "Write NAME: VALUE, with a space after the colon." },
                { "a: }\n", 1, 4, NULL },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                must_refuse(cases[i].text, strlen(cases[i].text), "yaml", cases[i].line,
                            cases[i].column);
                if (cases[i].hint)
                        assert_string_equal(error_hint_text(&error), cases[i].hint);
        }
}

static void
hints_at_quotes_for_a_name_that_looks_like_an_alias(void **state)
{
        (void)state;
        must_refuse("egress: [*x]\n", 13, "alias_forbidden", 1, 10);
        assert_non_null(strstr(error_hint_text(&error), "quote it"));
}

#define BYTES(text) (text), sizeof(text) - 1

static void
refuses_bytes_that_are_no_plain_utf8_text(void **state)
{
        static const struct {
                const char *bytes;
                size_t len;
                unsigned line, column;
        } cases[] = {
                { BYTES("\xef\xbb\xbf"
                        "a: 1\n"),
                  1, 1 },
                { BYTES("\xff\xfe"
                        "a\0:\0 \0001\0"),
                  1, 1 },
                { BYTES("\xfe\xff\0a\0:\0 \0001"), 1, 1 },
                { BYTES("a\0:\0 \0001\0"), 1, 2 },
                { BYTES("a: 1\nb: x\0y\n"), 2, 5 },
                { BYTES("a: \"x\\0y\"\n"), 1, 4 },
                { BYTES("a: \xc0\x80\n"), 1, 4 },
                { BYTES("a: \xed\xa0\x80\n"), 1, 4 },
                { BYTES("a: \xf4\x90\x80\x80\n"), 1, 4 },
                { BYTES("a: \xe2\x82"), 1, 4 },
                { BYTES("a: \xe2\x80\xa8"
                        "b: 1\n"),
                  1, 4 },
                { BYTES("# x\xc2\x85"
                        "b: 1\n"),
                  1, 4 },
                { BYTES("# x\rb: 1\n"), 1, 4 },
                { BYTES("a: x\x1b[0m\n"), 1, 5 },
                { BYTES("a: \x7f\n"), 1, 4 },
                { BYTES("a: x\xef\xbb\xbf\n"), 1, 5 },
                { BYTES("a: \"\\uD800\"\n"), 0, 0 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                must_refuse(cases[i].bytes, cases[i].len, "yaml", cases[i].line, cases[i].column);
}

/* `head`, then `count` times `unit`; the caller frees. */
static char *
repeat(const char *head, const char *unit, size_t count, size_t *ret_len)
{
        size_t head_len = strlen(head), unit_len = strlen(unit);
        char *text = malloc(head_len + unit_len * count + 1);

        assert_non_null(text);
        memcpy(text, head, head_len + 1);
        for (size_t i = 0; i < count; i++)
                memcpy(text + head_len + i * unit_len, unit, unit_len + 1);
        *ret_len = head_len + unit_len * count;
        return text;
}

static double
cpu_seconds(void)
{
        struct timespec t;

        assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

enum {
        /* a busy machine makes some runs slow, not all; a quadratic reader is slow in each run */
        TRIES = 5
};

/*
 * Each takes a few milliseconds; a quadratic reader takes seconds. A build with a sanitizer is
 * slower.
 */
static void
ends_hostile_texts_soon(void **state)
{
        static const struct {
                const char *name, *head, *unit;
                size_t count;
                const char *reason;
        } cases[] = {
                { "past the size", "", "[", 300000, "too_large" },
                { "brackets", "", "[", 100000, "too_large" },
                { "maps", "", "{\"a\":", 20000, "too_large" },
                { "lists in lists", "", "- ", 100000, "too_large" },
                { "complex keys", "", "? ", 100000, "non_string_key" },
                { "brackets on lines", "", "[\n", 100000, "too_large" },
                { "a long list", "", "- a\n", 17000, "too_large" },
                { "directives", "", "%TAG !a! b\n", 20000, "yaml" },
                { "directives at the end", "a: 1\n", "...\n%TAG !a! b\n", 15000, "multi_document" },
                { "a list in one line", "[", "a,", 17000, "too_large" },
                { "comments", "", "#\n", 100000, "empty" },
                { "aliases", "", "- *a\n", 40000, "alias_forbidden" },
                { "equal keys", "", "a: 1\n", 10000, "duplicate_key" },
                { "tabs", "", "\t", 200000, "empty" },
                { "document marks", "", "---\n", 60000, "empty" },
                { "quotes", "", "\"", 200001, "yaml" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                size_t len;
                char *text = repeat(cases[i].head, cases[i].unit, cases[i].count, &len);
                double took = 0;

                for (int tries = 0; tries == 0 || (took > 0.5 && tries < TRIES); tries++) {
                        double start = cpu_seconds();

                        if (read_text(text, len) == 0)
                                fail_msg("%s: accepted", cases[i].name);
                        if (strcmp(error.reason, cases[i].reason) != 0)
                                fail_msg("%s: %s (%s)", cases[i].name, error.reason, error.message);
                        took = cpu_seconds() - start;
                }
                if (took > 0.5)
                        fail_msg("%s: took %.2f s", cases[i].name, took);
                free(text);
        }
}

static void
finds_equal_keys_among_very_many(void **state)
{
        static const struct text_limits wide = { 64u << 20, 8, 1u << 20 };
        enum { COUNT = 100000 };
        size_t room = (size_t)COUNT * 16, len = 0;
        char *text = malloc(room);
        double start = cpu_seconds();

        (void)state;
        assert_non_null(text);
        for (unsigned i = 0; i < COUNT; i++)
                len += (size_t)snprintf(text + len, room - len, "k%06u: 1\n", (i * 7919u) % COUNT);
        arena_fini(&arena);
        arena_init(&arena, 256u << 20);
        assert_int_equal(yaml_read(&arena, text, len, 1, &wide, &root, &error), 0);
        assert_int_equal(root->len, COUNT);
        /* lint: overwrites a key in the middle of a longer text */
        memcpy(text + len - 11, "k000000", 7);
        assert_int_equal(yaml_read(&arena, text, len, 1, &wide, &root, &error), -1);
        assert_string_equal(error.reason, "duplicate_key");
        assert_int_equal(error.line, COUNT);
        assert_true(cpu_seconds() - start < 3);
        free(text);
}

static void
stands_on_its_limits_exactly(void **state)
{
        static const struct text_limits small = { 64, 3, 4 };
        static const struct {
                const char *text;
                int result;
        } cases[] = {
                { "[[[]]]", 0 },
                { "[[[[]]]]", -1 },
                { "[a, b, c]", 0 },
                { "[a, b, c, d]", -1 },
                { "a: {b: {c: 1}}", 0 },
                { "a: {b: {c: []}}", -1 },
                { "0123456789012345678901234567890123456789012345678901234567890123", 0 },
                { "01234567890123456789012345678901234567890123456789012345678901234", -1 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                arena_fini(&arena);
                arena_init(&arena, 1u << 20);
                error = (struct error){ 0 };
                assert_int_equal(yaml_read(&arena, cases[i].text, strlen(cases[i].text), 1, &small,
                                           &root, &error),
                                 cases[i].result);
                if (cases[i].result < 0)
                        assert_string_equal(error.reason, "too_large");
        }
}

static void
says_when_memory_ends_at_any_point(void **state)
{
        static const char text[] = "a: [1, 2, {b: c}]\nd: e\n";
        bool was_read = false;

        (void)state;
        for (size_t limit = 0; limit < 4096 && !was_read; limit += 8) {
                arena_fini(&arena);
                arena_init(&arena, limit);
                error = (struct error){ 0 };
                was_read = yaml_read(&arena, text, sizeof text - 1, 1, &text_limits_manifest, &root,
                                     &error) == 0;
                if (!was_read)
                        assert_int_equal(error.code, ERROR_NO_MEMORY);
        }
        assert_true(was_read);
}

static void
counts_lines_from_the_first_line_given(void **state)
{
        (void)state;
        arena_fini(&arena);
        arena_init(&arena, 1u << 20);
        assert_int_equal(
                yaml_read(&arena, "a: 1\nb: 2\n", 10, 40, &text_limits_manifest, &root, &error), 0);
        assert_int_equal(node_find(root, "b")->line, 41);
        assert_int_equal(
                yaml_read(&arena, "a: 1\nb: *\n", 10, 40, &text_limits_manifest, &root, &error),
                -1);
        assert_int_equal(error.line, 41);
        assert_int_equal(error.column, 4);
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
                cmocka_unit_test(resolves_plain_scalars_by_the_core_schema),
                cmocka_unit_test(resolves_the_numbers_that_are_none),
                cmocka_unit_test(keeps_order_and_places),
                cmocka_unit_test(accepts_what_may_surround_a_document),
                cmocka_unit_test(refuses_what_can_mean_two_things),
                cmocka_unit_test(says_where_the_scanner_stumbled),
                cmocka_unit_test(hints_at_quotes_for_a_name_that_looks_like_an_alias),
                cmocka_unit_test(refuses_bytes_that_are_no_plain_utf8_text),
                cmocka_unit_test(ends_hostile_texts_soon),
                cmocka_unit_test(finds_equal_keys_among_very_many),
                cmocka_unit_test(stands_on_its_limits_exactly),
                cmocka_unit_test(says_when_memory_ends_at_any_point),
                cmocka_unit_test(counts_lines_from_the_first_line_given),
        };

        return cmocka_run_group_tests(tests, NULL, let_go);
}
