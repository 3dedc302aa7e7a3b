/* api/start_error_test.c - what api/start_error.h promises: a table over all stages and every errno
 * of this kernel. */
#include "api/start_error.h"
#include "base/unit.h"

#include <errno.h>
#include <string.h>

enum { ERRNO_MAX = 133 };

static const struct {
        uint32_t stage; /* 0: every stage */
        int sys;        /* 0: every other errno */
        enum error_code code;
        const char *path;
} rows[] = {
        { 0, EAGAIN, ERROR_QUOTA_EXCEEDED, "" },
        { 0, ENOMEM, ERROR_QUOTA_EXCEEDED, "" },
        { 0, EMFILE, ERROR_QUOTA_EXCEEDED, "" },
        { 0, ENFILE, ERROR_QUOTA_EXCEEDED, "" },
        { 0, ENOSPC, ERROR_QUOTA_EXCEEDED, "" },
        { 0, ECANCELED, ERROR_CANCELED, "" },
        { WIRE_STAGE_LOOKUP, ENOENT, ERROR_COMMAND_NOT_FOUND, "argv/0" },
        { WIRE_STAGE_LOOKUP, ENOTDIR, ERROR_COMMAND_NOT_FOUND, "argv/0" },
        { WIRE_STAGE_LOOKUP, 0, ERROR_COMMAND_NOT_EXECUTABLE, "argv/0" },
        { WIRE_STAGE_DIRECTORY, 0, ERROR_INVALID_ARGUMENT, "cwd" },
        { WIRE_STAGE_TERMINAL, 0, ERROR_BACKEND_FAILED, "" },
        { WIRE_STAGE_SPAWN, 0, ERROR_BACKEND_FAILED, "" },
        { WIRE_STAGE_PREPARE, EOPNOTSUPP, ERROR_CAPABILITY_UNAVAILABLE, "tty" },
        { WIRE_STAGE_PREPARE, 0, ERROR_BACKEND_FAILED, "" },
        { WIRE_STAGE_PROVIDER, EACCES, ERROR_AUTH_UNRESOLVABLE, "" },
        { WIRE_STAGE_PROVIDER, ENOPKG, ERROR_CAPABILITY_UNAVAILABLE, "provider" },
        { WIRE_STAGE_PROVIDER, 0, ERROR_BACKEND_FAILED, "" },
        { 0, 0, ERROR_BACKEND_FAILED, "" }, /* a stage that this version does not know */
};

static size_t
row_of(uint32_t stage, int sys)
{
        size_t i = 0;

        while ((rows[i].stage != 0 && rows[i].stage != stage) ||
               (rows[i].sys != 0 && rows[i].sys != sys))
                i++;
        return i;
}

static void
every_stage_and_errno_has_its_error(void **state)
{
        (void)state;
        for (uint32_t stage = 0; stage <= WIRE_STAGE_PROVIDER + 1; stage++)
                for (int sys = -ERRNO_MAX; sys <= ERRNO_MAX; sys++) {
                        struct wire_exec_failed failed = { 1, sys, stage };
                        size_t i = row_of(stage, sys < 0 ? -sys : sys);
                        struct error e = { .code = ERROR_NONE };

                        assert_int_equal(start_error_read(&e, &failed, "prog", "/dir"), -1);
                        if (e.code != rows[i].code || strcmp(e.path, rows[i].path) != 0)
                                fail_msg("stage %u, errno %d: %s at %s", stage, sys,
                                         error_wire_name(e.code), e.path);
                        if (stage == WIRE_STAGE_DIRECTORY && e.code == ERROR_INVALID_ARGUMENT)
                                assert_non_null(strstr(e.message, "(cwd) /dir cannot"));
                        else if (e.code != ERROR_BACKEND_FAILED || stage == WIRE_STAGE_SPAWN)
                                assert_non_null(strstr(e.message, "prog"));
                        if (e.code == ERROR_QUOTA_EXCEEDED)
                                assert_non_null(strstr(e.hint, "limits.pids"));
                }
}

static void
names_may_be_missing(void **state)
{
        static const char *const none[] = { NULL, "" };

        (void)state;
        for (size_t i = 0; i < 2; i++)
                for (uint32_t stage = 0; stage <= WIRE_STAGE_PROVIDER + 1; stage++) {
                        struct wire_exec_failed failed = { 1, EIO, stage };
                        struct error e;

                        assert_int_equal(start_error_read(&e, &failed, none[i], none[i]), -1);
                        assert_null(strstr(e.message, "  "));
                        assert_null(strstr(e.message, "null"));
                }
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_stage_and_errno_has_its_error),
                cmocka_unit_test(names_may_be_missing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
