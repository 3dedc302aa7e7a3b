/* text/jcs_test.c - what text/jcs.h promises. */
#include "base/unit.h"
#include "text/jcs.h"

#include <string.h>

#include "text/json.h"

static struct arena arena;
static struct error error;

/* The canonical form of `json`, or the name of the error. */
static const char *
canonical(const char *json, const struct jcs_without *without, size_t count, size_t max)
{
        static struct buffer out;
        const struct node *root;

        buffer_fini(&out);
        arena_fini(&arena);
        arena_init(&arena, 1u << 20);
        assert_int_equal(
                json_read(&arena, json, strlen(json), &text_limits_manifest, &root, &error), 0);
        if (jcs_write(root, without, count, max, &out, &error) < 0)
                return error_wire_name(error.code);
        return out.bytes;
}

static void
writes_the_form_of_rfc_8785(void **state)
{
        static const struct {
                const char *json, *form;
        } cases[] = {
                { " { \"b\" : [ 1 , -0, -7 ], \"a\" : { } , \"c\":[true,false,null] }",
                  "{\"a\":{},\"b\":[1,0,-7],\"c\":[true,false,null]}" },
                { "\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\"",
                  "\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"" },
                { "\"\\b\\t\\n\\f\\r\\u001b\\u007f\"", "\"\\b\\t\\n\\f\\r\\u001b\x7f\"" },
                /* section 3.2.3: by UTF-16 code units, so U+1F600 comes before U+FB33 */
                { "{\"\\u20ac\":1,\"\\r\":2,\"\\ufb33\":3,\"1\":4,\"\\ud83d\\ude00\":5,"
                  "\"\\u0080\":6,\"\\u00f6\":7}",
                  "{\"\\r\":2,\"1\":4,\"\xc2\x80\":6,\"\u00f6\":7,\"\u20ac\":1,\"\U0001f600\":5,"
                  "\"\ufb33\":3}" },
                { "{\"a\\ue000\":1,\"a\\ud800\\udc00\":2,\"a\":3,\"a\\ud7ff\":4}",
                  "{\"a\":3,\"a\xed\x9f\xbf\":4,\"a\xf0\x90\x80\x80\":2,\"a\xee\x80\x80\":1}" },
                { "9007199254740992", "9007199254740992" },
                { "9007199254740993", "invalid_argument" },
                { "-9007199254740993", "invalid_argument" },
                { "{\"a\":[1.5]}", "invalid_argument" },
                { "99999999999999999999", "invalid_argument" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                assert_string_equal(canonical(cases[i].json, NULL, 0, 4096), cases[i].form);
}

static void
leaves_out_what_it_is_asked_to(void **state)
{
        static const char *const one[] = { "b" }, *const deep[] = { "c", "x", "y" };
        static const struct jcs_without without[] = { { one, 1 }, { deep, 3 } };
        const char *json = "{\"c\":{\"x\":{\"y\":1,\"b\":2}},\"b\":3,\"a\":{\"b\":4}}";

        (void)state;
        assert_string_equal(canonical(json, without, 1, 4096),
                            "{\"a\":{\"b\":4},\"c\":{\"x\":{\"b\":2,\"y\":1}}}");
        assert_string_equal(canonical(json, without, 2, 4096),
                            "{\"a\":{\"b\":4},\"c\":{\"x\":{\"b\":2}}}");
        assert_string_equal(canonical("{\"b\":1}", without, 2, 4096), "{}");
        /* members of maps in a list are not on any path */
        assert_string_equal(canonical("[{\"b\":1}]", without, 2, 4096), "[{\"b\":1}]");
}

static void
refuses_more_than_it_may_write(void **state)
{
        (void)state;
        assert_string_equal(canonical("\"abc\"", NULL, 0, 5), "\"abc\"");
        assert_string_equal(canonical("\"abc\"", NULL, 0, 4), "request_too_large");
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(writes_the_form_of_rfc_8785),
                cmocka_unit_test(leaves_out_what_it_is_asked_to),
                cmocka_unit_test(refuses_more_than_it_may_write),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
