/* prepare/runtime_test.c - what prepare/runtime.h promises. */
#include "base/unit.h"
#include "prepare/runtime.h"

#include <string.h>

static const struct runtime items[] = {
        { "node", "24.1.0", "/opt/node-24/bin/node", "/opt/node-24" },
        { "node", "22.20.0", "/usr/bin/node", NULL },
        { "python", "3.13.1", "/usr/bin/python3.13", NULL },
        { "python", "3.9.2", "/usr/bin/python3.9", NULL },
        { "bash", "5.2.15", "/usr/bin/bash", NULL },
};
static const struct runtimes all = { items, sizeof items / sizeof *items };

static void
finds_the_newest_that_fits(void **state)
{
        static const struct {
                const char *name;
                int index;
        } cases[] = {
                { "node24", 0 },
                { "node", 0 },
                { "nodejs22", 1 },
                { "node22.20", 1 },
                { "python3", 2 },
                { "python", 2 },
                { "python3.13", 2 },
                { "python3.9", 3 },
                { "python3.9.2", 3 },
                { "bash", 4 },
                { "python3.1", -1 },
                { "node2", -1 },
                { "ruby", -1 },
                { "", -1 },
                { "3.13", -1 },
                { "python3.13-slim", -1 },
                { "node24/../x", -1 },
                { "a-name-far-longer-than-any-runtime-may-have-because-somebody-pasted-it-here",
                  -1 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const struct runtime *found = NULL;
                struct error e;
                int result = runtime_find(&all, cases[i].name, &found, &e);

                assert_int_equal(result, cases[i].index < 0 ? -1 : 0);
                assert_ptr_equal(found, cases[i].index < 0 ? NULL : &items[cases[i].index]);
                if (cases[i].index < 0)
                        assert_int_equal(e.code, ERROR_RUNTIME_UNKNOWN);
        }
}

static void
a_refusal_lists_those_that_are(void **state)
{
        const struct runtime *found;
        struct runtimes none = { NULL, 0 };
        struct error e;

        (void)state;
        assert_int_equal(runtime_find(&all, "cobol85", &found, &e), -1);
        assert_string_equal(e.hint, "It has node24, node22, python3.13, python3.9, bash5.2.");
        assert_int_equal(runtime_find(&none, "node", &found, &e), -1);
        assert_non_null(strstr(e.hint, "leave the runtime out"));
}

static void
versions_are_numbers(void **state)
{
        (void)state;
        assert_true(runtime_version_compare("3.9", "3.13") < 0);
        assert_true(runtime_version_compare("3.13.1", "3.13") > 0);
        assert_int_equal(runtime_version_compare("3.13.0", "3.13"), 0);
        assert_true(runtime_version_compare("", "1") < 0);
}

static void
goes_as_a_tree_and_comes_back(void **state)
{
        struct arena arena;
        struct runtimes back;
        struct error e;
        const struct node *list;

        (void)state;
        arena_init(&arena, 1 << 20);
        list = runtimes_write(&arena, &all);
        assert_non_null(list);
        assert_int_equal(runtimes_read(&arena, list, &back, &e), 0);
        assert_int_equal(back.count, all.count);
        for (size_t i = 0; i < all.count; i++) {
                assert_string_equal(back.items[i].family, items[i].family);
                assert_string_equal(back.items[i].version, items[i].version);
                assert_string_equal(back.items[i].path, items[i].path);
                if (items[i].prefix)
                        assert_string_equal(back.items[i].prefix, items[i].prefix);
                else
                        assert_null(back.items[i].prefix);
        }
        arena_fini(&arena);
}

static void
a_foreign_list_is_looked_at(void **state)
{
        static const struct runtime bad[] = {
                { "cobol", "1", "/bin/x", NULL },
                { "node", "1-2", "/bin/x", NULL },
                { "node", "1", "bin/x", NULL },
                { "node", "1", "/bin/x", "x" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                struct runtimes one = { &bad[i], 1 }, back;
                struct arena arena;
                struct error e;

                arena_init(&arena, 1 << 20);
                assert_int_equal(runtimes_read(&arena, runtimes_write(&arena, &one), &back, &e),
                                 -1);
                assert_int_equal(e.code, ERROR_PROTOCOL);
                arena_fini(&arena);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(finds_the_newest_that_fits),
                cmocka_unit_test(a_refusal_lists_those_that_are),
                cmocka_unit_test(versions_are_numbers),
                cmocka_unit_test(goes_as_a_tree_and_comes_back),
                cmocka_unit_test(a_foreign_list_is_looked_at),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
