/*
 * door/facades_test.c - each route of the table leads to its operation, and no other path leads to
 * a handler.
 */
#include "door/facades.h"

#include <string.h>

#include "base/unit.h"
#include "rest/rest.h"

static void
each_row_is_found(void **state)
{
        const struct operation *o;
        size_t at = 0, count = 0;

        while ((o = operation_next(&at))) {
                struct route r;
                struct error e;
                char allow[64];

                if (!o->route)
                        continue;
                /* the text in braces is a valid word too */
                assert_int_equal(
                        route_find(door_facades, o->method, o->route, &r, allow, sizeof allow, &e),
                        0);
                assert_ptr_equal(r.operation, o);
                count++;
        }
        assert_true(count > 25);
}

static void
words_are_taken(void **state)
{
        struct route r;
        struct error e;
        char allow[64];

        assert_int_equal(route_find(door_facades, "GET", "/v1/sandboxes/a%2Fb/execs/12/output", &r,
                                    allow, sizeof allow, &e),
                         0);
        assert_string_equal(path_word(&r.path, "id"), "a/b");
        assert_string_equal(path_word(&r.path, "exec"), "12");
        assert_null(path_word(&r.path, "ex"));
        assert_int_equal(route_find(door_facades, "PUT", "/v1/sandboxes/a/files", &r, allow,
                                    sizeof allow, &e),
                         0);
        assert_true(r.handle == rest_file_put && (r.flags & ROUTE_STREAM) != 0);
}

static void
other_paths_lead_nowhere(void **state)
{
        static const struct {
                const char *method, *path;
                enum error_code code;
                const char *allow;
        } cases[] = {
                { "GET", "/", ERROR_ROUTE_NOT_FOUND, "" },
                { "GET", "/v1/sandboxes/", ERROR_ROUTE_NOT_FOUND, "" },
                { "GET", "/v1/sandboxes//execs", ERROR_ROUTE_NOT_FOUND, "" },
                { "GET", "//v1/sandboxes", ERROR_ROUTE_NOT_FOUND, "" },
                { "GET", "/v1/sandboxes/a/b", ERROR_ROUTE_NOT_FOUND, "" },
                { "GET", "/V1/sandboxes", ERROR_ROUTE_NOT_FOUND, "" },
                { "GET", "/healthz/", ERROR_ROUTE_NOT_FOUND, "" },
                { "PUT", "/v1/sandboxes", ERROR_METHOD_NOT_ALLOWED, "POST, GET" },
                { "POST", "/healthz", ERROR_METHOD_NOT_ALLOWED, "GET" },
                { "GET", "/v1/sandboxes/%", ERROR_INVALID_ARGUMENT, "" },
                { "GET", "/v1/sandboxes/%00", ERROR_INVALID_ARGUMENT, "" },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct route r;
                struct error e;
                char allow[64];

                if (route_find(door_facades, cases[i].method, cases[i].path, &r, allow,
                               sizeof allow, &e) != -1 ||
                    e.code != cases[i].code || strcmp(allow, cases[i].allow) != 0)
                        fail_msg("%s %s: %s, %s", cases[i].method, cases[i].path,
                                 error_wire_name(e.code), allow);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(each_row_is_found),
                                            cmocka_unit_test(words_are_taken),
                                            cmocka_unit_test(other_paths_lead_nowhere) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
