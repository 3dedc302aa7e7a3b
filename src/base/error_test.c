/* base/error_test.c - what base/error.h promises. */
#include "base/error.h"
#include "base/unit.h"

#include <errno.h>
#include <string.h>

static void
writes_code_and_sentence(void **state)
{
        struct error e;

        (void)state;
        assert_int_equal(fail(&e, ERROR_READ_ONLY, "no %s here", "running"), -1);
        assert_int_equal(e.code, ERROR_READ_ONLY);
        assert_string_equal(e.message, "no running here");
        assert_string_equal(e.path, "");
}

static void
keeps_errno_and_prints_it(void **state)
{
        struct error e;

        (void)state;
        fail_sys(&e, ERROR_FILE_UNREADABLE, ENOENT, "opening x");
        assert_int_equal(e.sys, ENOENT);
        assert_string_equal(e.message, "opening x: No such file or directory");
}

static void
wraps_from_outside_in(void **state)
{
        struct error e;

        (void)state;
        fail_at(&e, ERROR_MOUNT_INVALID, "mounts/0/at", "dotdot", "inner");
        error_wrap(&e, "outer %d", 1);
        assert_string_equal(e.message, "outer 1: inner");
        assert_string_equal(e.path, "mounts/0/at");
        assert_string_equal(e.reason, "dotdot");
}

static void
cuts_long_sentences(void **state)
{
        struct error e;
        char text[4096];

        (void)state;
        memset(text, 'x', sizeof text - 1);
        text[sizeof text - 1] = '\0';
        fail(&e, ERROR_INTERNAL, "%s", text);
        assert_int_equal(strlen(e.message), sizeof e.message - 1);
        error_wrap(&e, "%s", text);
        assert_int_equal(strlen(e.message), sizeof e.message - 1);
}

static void
every_code_has_its_facts(void **state)
{
        (void)state;
        for (int code = 1; code < ERROR_MAX; code++) {
                enum error_code c = (enum error_code)code;

                assert_true(strlen(error_wire_name(c)) > 3);
                assert_true(strlen(error_code_hint(c)) > 10);
                assert_in_range(error_http_status(c), 400, 599);
                assert_in_range(error_exit_status(c), 124, 137);
                assert_int_equal(error_code_find(error_wire_name(c)), c);
        }
        assert_int_equal(error_code_find("nothing_of_the_kind"), ERROR_NONE);
}

static void
prefers_its_own_hint(void **state)
{
        struct error e;

        (void)state;
        fail(&e, ERROR_OOM, "too big");
        assert_string_equal(error_hint_text(&e), error_code_hint(ERROR_OOM));
        error_hint(&e, "buy %s", "memory");
        assert_string_equal(error_hint_text(&e), "buy memory");
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(writes_code_and_sentence),
                cmocka_unit_test(keeps_errno_and_prints_it),
                cmocka_unit_test(wraps_from_outside_in),
                cmocka_unit_test(cuts_long_sentences),
                cmocka_unit_test(every_code_has_its_facts),
                cmocka_unit_test(prefers_its_own_hint),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
