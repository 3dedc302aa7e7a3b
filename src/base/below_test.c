/* base/below_test.c - what base/below.h promises. */
#include "base/below.h"

#include <string.h>

#include "base/unit.h"

static void
the_rest_of_a_path_below_a_directory(void **state)
{
        static const struct {
                const char *path, *top, *rest; /* NULL: not below */
        } rows[] = {
                { "/a/b/c", "/a", "b/c" }, { "/a/b", "/a/", "b" },    { "/a//b", "/a", "b" },
                { "/a", "/a", "" },        { "/a/", "/a", "" },       { "/a", "/a//", "" },
                { "/a", "/", "a" },        { "/", "/", "" },          { "a/b", "a", "b" },
                { "/ab", "/a", NULL },     { "/a", "/ab", NULL },     { "/a", "/a/b", NULL },
                { "/b/a", "/a", NULL },    { "a", "/", NULL },        { "a/b", "/a", NULL },
                { "/a/b", "a", NULL },     { "/a/../b", "/b", NULL }, { "/a", "/a/.", NULL },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                const char *rest = path_below(rows[i].path, rows[i].top);

                if (!rows[i].rest)
                        assert_null(rest);
                else {
                        assert_non_null(rest);
                        assert_string_equal(rest, rows[i].rest);
                }
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_rest_of_a_path_below_a_directory),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
