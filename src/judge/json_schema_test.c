/*
 * judge/json_schema_test.c - JSON Schema: keywords over values, what is not understood, and bounds.
 *
 * test/cli/validator_test.py compares it with another implementation.
 */
#include "base/sanitized.h"
#include "judge/json_schema.h"
#include "judge/json_schema_check.h"
#include "text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MEMORY = 64 << 20 };

static struct arena arena;

static const struct node *
tree(const char *text)
{
        static const struct text_limits limits = { 1 << 20, 256, 200000 };
        const struct node *root = NULL;
        struct error e;

        if (json_read(&arena, text, strlen(text), &limits, &root, &e) < 0)
                fail_msg("%s: %s", text, e.message);
        return root;
}

static int
begin(void **state)
{
        (void)state;
        arena_init(&arena, MEMORY);
        return 0;
}

static int
end(void **state)
{
        (void)state;
        arena_fini(&arena);
        return 0;
}

/* place NULL: valid */
static const struct {
        const char *schema, *value, *place;
} rows[] = {
        { "true", "1", NULL },
        { "false", "1", "false" },
        { "{}", "null", NULL },
        { "{\"type\":\"integer\"}", "1.0", NULL },
        { "{\"type\":\"integer\"}", "1.5", "type" },
        { "{\"type\":[\"null\",\"array\"]}", "[]", NULL },
        { "{\"type\":\"number\"}", "true", "type" },
        { "{\"enum\":[1,\"a\",{\"x\":[2]}]}", "{\"x\":[2.0]}", NULL },
        { "{\"enum\":[1]}", "true", "enum" },
        { "{\"const\":{\"a\":1,\"b\":2}}", "{\"b\":2,\"a\":1}", NULL },
        { "{\"const\":[1,2]}", "[2,1]", "const" },
        { "{\"properties\":{\"a\":{\"properties\":{\"b\":{\"type\":\"string\"}}}}}",
          "{\"a\":{\"b\":1}}", "a/b: type" },
        { "{\"required\":[\"a\"]}", "{\"b\":1}", "required" },
        { "{\"required\":[\"a\"]}", "[]", NULL },
        { "{\"properties\":{\"a\":true},\"patternProperties\":{\"^x\":true},"
          "\"additionalProperties\":false}",
          "{\"a\":1,\"x1\":2}", NULL },
        { "{\"properties\":{\"a\":true},\"additionalProperties\":false}", "{\"b\":2}", "b: false" },
        { "{\"patternProperties\":{\"^x\":{\"type\":\"null\"}}}", "{\"x\":1}", "x: type" },
        { "{\"minProperties\":1,\"maxProperties\":1}", "{\"a\":1,\"b\":1}", "maxProperties" },
        { "{\"prefixItems\":[{\"type\":\"null\"}],\"items\":{\"type\":\"string\"}}", "[null,\"a\"]",
          NULL },
        { "{\"prefixItems\":[{\"type\":\"null\"}],\"items\":{\"type\":\"string\"}}", "[null,1]",
          "1: type" },
        { "{\"minItems\":2}", "[1]", "minItems" },
        { "{\"uniqueItems\":true}", "[1,2,1.0]", "uniqueItems" },
        { "{\"uniqueItems\":true}", "[0,false]", NULL },
        { "{\"maxLength\":1}", "\"\xc3\xa9\"", NULL },
        { "{\"maxLength\":1}", "\"ab\"", "maxLength" },
        { "{\"pattern\":\"^a+$\"}", "\"ab\"", "pattern" },
        { "{\"minimum\":1,\"exclusiveMaximum\":2}", "2", "exclusiveMaximum" },
        { "{\"minimum\":1.5}", "1", "minimum" },
        { "{\"multipleOf\":0.5}", "1.5", NULL },
        { "{\"multipleOf\":3}", "7", "multipleOf" },
        { "{\"multipleOf\":2}", "4.0", NULL },
        { "{\"allOf\":[{\"minimum\":1},{\"maximum\":2}]}", "3", "maximum" },
        { "{\"anyOf\":[{\"type\":\"null\"},{\"minimum\":1}]}", "0", "anyOf" },
        { "{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "3", "oneOf" },
        { "{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}", "1", NULL },
        { "{\"not\":{\"type\":\"null\"}}", "null", "not" },
        { "{\"$defs\":{\"n\":{\"type\":\"null\"}},\"items\":{\"$ref\":\"#/$defs/n\"}}", "[null,1]",
          "1: type" },
        { "{\"properties\":{\"next\":{\"$ref\":\"#\"}},\"required\":[\"v\"]}",
          "{\"v\":1,\"next\":{\"v\":2,\"next\":{}}}", "next/next: required" },
        /* J1: what is not decided is not allowed, also below `not` */
        { "{\"$ref\":\"#\"}", "1", "limit" },
        { "{\"not\":{\"$ref\":\"#\"}}", "1", "limit" },
        { "{\"anyOf\":[true,{\"$ref\":\"#\"}]}", "1", "limit" },
        { "{\"not\":{\"const\":1}}", "100000000000000000000", "number" },
        { "true", "[1e300]", "number" },
};

static void
values_are_judged(void **state)
{
        char place[JSON_SCHEMA_PLACE_ROOM];
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct node *schema = tree(rows[i].schema);

                if (json_schema_check(schema, &e) < 0)
                        fail_msg("%s: %s", rows[i].schema, e.message);
                if (json_schema_allows(schema, tree(rows[i].value), place) != !rows[i].place)
                        fail_msg("%s over %s", rows[i].schema, rows[i].value);
                if (rows[i].place && strcmp(place, rows[i].place) != 0)
                        fail_msg("%s over %s: %s", rows[i].schema, rows[i].value, place);
        }
}

static void
what_is_not_understood_is_an_error(void **state)
{
        static const char *const schemas[][2] = {
                { "{\"format\":\"email\"}", "keyword" },
                { "{\"contains\":true}", "keyword" },
                { "{\"properties\":{\"a\":{\"minimun\":1}}}", "keyword" },
                { "{\"items\":[true]}", "type" },
                { "{\"type\":\"text\"}", "type" },
                { "{\"type\":[]}", "type" },
                { "{\"enum\":[]}", "type" },
                { "{\"minLength\":-1}", "type" },
                { "{\"multipleOf\":0}", "range" },
                { "{\"const\":1e300}", "range" },
                { "{\"pattern\":\"(a)\\\\1\"}", "pattern" },
                { "{\"patternProperties\":{\"[\":true}}", "pattern" },
                { "{\"$ref\":\"other.json\"}", "reference" },
                { "{\"$ref\":\"#/$defs/none\"}", "reference" },
                { "{\"$ref\":\"#/properties/a\"}", "reference" },
                { "{\"items\":{\"$defs\":{}}}", "reference" },
                { "{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}", "keyword" },
                { "{\"required\":\"a\"}", "type" },
                { "[]", "type" },
        };
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
                assert_int_equal(json_schema_check(tree(schemas[i][0]), &e), -1);
                if (strcmp(e.reason, schemas[i][1]) != 0 || e.line == 0)
                        fail_msg("%s: %s", schemas[i][0], e.reason);
        }
}

static void
work_is_bounded(void **state)
{
        static char text[64 * 1024];
        char place[JSON_SCHEMA_PLACE_ROOM];
        size_t len = 0;

        (void)state;
        text[len++] = '[';
        for (int i = 0; i < 2000; i++)
                len += (size_t)snprintf(text + len, sizeof text - len, "%s%d", i ? "," : "", i);
        (void)snprintf(text + len, sizeof text - len, "]");
        assert_false(json_schema_allows(tree("{\"uniqueItems\":true}"), tree(text), place));
        assert_string_equal(place, "limit");
        assert_true(json_schema_allows(tree("{\"maxItems\":2000}"), tree(text), place));
}

/* "differs" would make `not` true of a value that nothing was said about. */
static void
a_pattern_without_memory_is_no_answer(void **state)
{
        static const char *const schemas[] = {
                "{\"pattern\":\"(a{1,255}){1,255}\"}",
                "{\"not\":{\"pattern\":\"(a{1,255}){1,255}\"}}",
                "{\"patternProperties\":{\"(a{1,255}){1,255}\":true}}",
        };
        static const struct rlimit none;
        char place[JSON_SCHEMA_PLACE_ROOM];
        const struct node *schema, *value = tree("\"b\""), *map = tree("{\"b\":1}");
        int status;
        pid_t pid;

        (void)state;
        /* a sanitizer ends a program without memory: the other build has these rows */
        if (IS_SANITIZED)
                return;
        for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
                struct error e;

                schema = tree(schemas[i]);
                pid = fork();
                if (pid == 0) {
                        (void)setrlimit(RLIMIT_AS, &none);
                        if (json_schema_check(schema, &e) == 0 || e.code != ERROR_NO_MEMORY)
                                _exit(1);
                        if (json_schema_allows(schema, i == 2 ? map : value, place) ||
                            strcmp(place, "limit") != 0)
                                _exit(2);
                        _exit(0);
                }
                assert_int_equal(waitpid(pid, &status, 0), pid);
                assert_int_equal(status, 0);
        }
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(values_are_judged),
                cmocka_unit_test(what_is_not_understood_is_an_error),
                cmocka_unit_test(work_is_bounded),
                cmocka_unit_test(a_pattern_without_memory_is_no_answer),
        };

        return cmocka_run_group_tests(tests, begin, end);
}
