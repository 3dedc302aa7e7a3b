/*
 * keeper/approval_test.c - the names of operations that can wait are those of the table.
 */
#include "api/operation.h"
#include "base/unit.h"
#include "spec/approve.h"

static void
each_name_is_an_operation_of_a_sandbox(void **state)
{
        (void)state;
        for (size_t i = 0; spec_approve_words[i]; i++) {
                const char *name = spec_approve_operation(spec_approve_words[i]);
                const struct operation *o;

                assert_non_null(name);
                o = operation_find(name);
                assert_non_null(o);
                assert_int_equal(o->params[0].tag, FIELD_ID);
                assert_int_equal(o->flags & (OPERATION_ADMIN | OPERATION_INTERNAL), 0);
        }
        assert_string_equal(spec_approve_operation("exec"), "exec.start");
        assert_null(spec_approve_operation("stop"));
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(
                each_name_is_an_operation_of_a_sandbox) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
