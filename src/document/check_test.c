/*
 * document/check_test.c - values at their bounds, findings that repeat, and a tree that a program
 * made. The rules themselves are cases: test/conform/geodocs.yaml.
 */
#include "document/admit.h"
#include "document/check.h"
#include "document/read.h"
#include "document/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MEMORY = 8 << 20 };

static void
test_durations(void **state)
{
        uint64_t ms;

        (void)state;
        assert_true(document_duration("1500ms", &ms) && ms == 1500);
        assert_true(document_duration("1y", &ms) && ms == 31536000000);
        assert_true(document_duration("99999999999999999999999y", &ms) && ms == UINT64_MAX - 1);
        assert_false(document_duration("0s", &ms));
        assert_false(document_duration("30", &ms));
        assert_false(document_duration(" 30s", &ms));
        assert_false(document_duration("30s\n", &ms));
        assert_false(document_duration("1h30m", &ms));
        assert_false(document_duration("\xd9\xa3s", &ms)); /* an Arabic digit */
}

static void
test_amounts(void **state)
{
        uint64_t n;

        (void)state;
        assert_true(document_quantity("1.5Gi", &n) && n == 1610612736);
        assert_true(document_quantity("10G", &n) && n == 10000000000);
        assert_false(document_quantity("0Gi", &n));
        assert_false(document_quantity("1e9", &n));
        assert_false(document_quantity("10gi", &n));
        assert_true(document_millicores("2000m", &n) && n == 2000);
        assert_true(document_millicores("0.5", &n) && n == 500);
        assert_false(document_millicores("0m", &n));
}

static void
test_names(void **state)
{
        char name[DOCUMENT_NAME_MAX];

        (void)state;
        assert_string_equal(document_name(" MCP-Responses ", name, sizeof name), "mcp_responses");
        assert_true(document_is_control("Seccomp Filter"));
        assert_false(document_is_control("seccomp_filters"));
        assert_true(document_is_intent("we should patch"));
        assert_false(document_is_intent("shoulder"));
        assert_true(document_is_intent("Defence in depth"));
        assert_string_equal(document_input_class("readme.md"), "repository_files");
        assert_int_equal(document_runtime_tier("Kata Containers"), 3);
        assert_int_equal(document_runtime_tier("nodeOS"), 0);
}

/* Many findings, and the same one often: all are counted, and each is kept once. */
static void
test_many(void **state)
{
        static char text[1 << 17];
        const struct document_options options = { .is_draft = false };
        struct document_findings f;
        const struct node *root;
        struct arena arena;
        struct error e;
        size_t used = (size_t)snprintf(text, sizeof text, "network: {egress_allowlist: [");

        (void)state;
        for (int i = 0; i < 2000; i++)
                used += (size_t)snprintf(text + used, sizeof text - used, "{host: \"*\"},");
        used += (size_t)snprintf(text + used, sizeof text - used, "]}");
        arena_init(&arena, MEMORY);
        assert_int_equal(document_read(&arena, "x.yaml", text, used, &root, &e), 0);
        document_findings_init(&f, &arena);
        document_check(root, &options, &f);
        assert_true(f.error_count >= 4000);
        assert_non_null(f.first);
        arena_fini(&arena);
}

/* A document that says nothing allows nothing. */
static void
test_admit_nothing(void **state)
{
        static const struct node nothing = { .kind = NODE_MAP };
        struct document_request request = { .risk = DOCUMENT_LOW };

        (void)state;
        assert_string_equal(document_admit(&nothing, &request).word, "refuse:tier");
}

static void
test_forms(void **state)
{
        static const char page[] = "---\nidentity: {name: a}\n---\n# Page\n";
        static const char json[] = "{\"@context\": \"x\", \"identity\": {\"name\": \"a\"}}";
        const struct node *root;
        struct arena arena;
        struct error e;

        (void)state;
        arena_init(&arena, MEMORY);
        assert_int_equal(document_read(&arena, "a.md", page, sizeof page - 1, &root, &e), 0);
        assert_non_null(node_find(root, "identity"));
        assert_int_equal(document_read(&arena, "a.JSONLD", json, sizeof json - 1, &root, &e), 0);
        assert_non_null(node_find(root, "identity"));
        assert_int_equal(document_read(&arena, "a.yaml", "a: 1\na: 2\n", 10, &root, &e), -1);
        assert_int_equal(e.code, ERROR_MANIFEST_SYNTAX);
        arena_fini(&arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_durations), cmocka_unit_test(test_amounts),
                cmocka_unit_test(test_names),     cmocka_unit_test(test_many),
                cmocka_unit_test(test_forms),     cmocka_unit_test(test_admit_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
