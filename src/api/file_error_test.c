/*
 * api/file_error_test.c - each way in which a file operation can end has its typed error.
 */
#include "api/file_error.h"

#include <errno.h>
#include <string.h>

#include "base/unit.h"

static void
each_errno_has_its_code(void **state)
{
        static const struct {
                int sys;
                const char *wire;
                int http;
        } cases[] = {
                { ENOENT, "file_not_found", 404 },
                { EEXIST, "file_exists", 409 },
                { EISDIR, "not_a_file", 422 },
                { ENOTDIR, "not_a_directory", 422 },
                { EROFS, "sandbox_mount_read_only", 403 },
                { ENOSPC, "storage_full", 507 },
                { EDQUOT, "storage_full", 507 },
                { EACCES, "permission_denied", 403 },
                { EFBIG, "file_too_large", 413 },
                { ENAMETOOLONG, "path_too_long", 422 },
                { 250, "sandbox_backend_failed", 500 },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct error e = { 0 };

                assert_int_equal(file_error_read(&e, cases[i].sys, "/a\nb", 4), -1);
                assert_string_equal(error_wire_name(e.code), cases[i].wire);
                assert_int_equal(error_http_status(e.code), cases[i].http);
                assert_non_null(strstr(e.message, "/a?b"));
        }
}

static void
elsewhere_a_command_is_named(void **state)
{
        struct error e = { 0 };

        (void)state;
        assert_int_equal(file_error_read(&e, EOPNOTSUPP, "/a", 2), -1);
        assert_int_equal(e.code, ERROR_CAPABILITY_UNAVAILABLE);
        assert_non_null(strstr(error_hint_text(&e), "docs/BRIDGE.md"));
}

static void
each_other_ending_has_its_code(void **state)
{
        static const struct {
                const char *outcome, *wire;
        } cases[] = {
                { "killed", "canceled" },
                { "timed_out", "sandbox_timeout" },
                { "oom_killed", "sandbox_oom" },
                { "lost", "sandbox_backend_failed" },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct error e = { 0 };

                assert_int_equal(file_ended_read(&e, cases[i].outcome), -1);
                assert_string_equal(error_wire_name(e.code), cases[i].wire);
                assert_string_equal(e.reason, cases[i].outcome);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(each_errno_has_its_code),
                                            cmocka_unit_test(elsewhere_a_command_is_named),
                                            cmocka_unit_test(each_other_ending_has_its_code) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
