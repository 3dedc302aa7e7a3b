/*
 * outcome/lookup_test.c - the error for a command that could not be executed: one row for each
 * command line that people type.
 */
#include "outcome/lookup.h"

#include <errno.h>
#include <string.h>

#include "base/unit.h"

static void
each_mistake_has_its_next_step(void **state)
{
        static const struct {
                const char *name;
                int sys;
                enum error_code code;
                const char *message, *hint;
        } rows[] = {
                { "gti", ENOENT, ERROR_COMMAND_NOT_FOUND, "gti: there is no such command",
                  "Check the spelling of gti." },
                { "./x", ENOENT, ERROR_COMMAND_NOT_FOUND, "./x: ", "Check the path" },
                { "/a/b", ENOTDIR, ERROR_COMMAND_NOT_FOUND, "/a/b: ", "Check the path" },
                { "cd", ENOENT, ERROR_COMMAND_NOT_FOUND, "cd: ", "sh -c 'cd ...'" },
                { "A=1", ENOENT, ERROR_COMMAND_NOT_FOUND, "A=1: ", "-e A=1 -- COMMAND" },
                { "ls | wc", ENOENT, ERROR_COMMAND_NOT_FOUND, "ls | wc: ", "sh -c 'ls | wc'" },
                { "debian", ENOENT, ERROR_COMMAND_NOT_FOUND, "debian: ", "provider: container" },
                { "python:3.12", ENOENT, ERROR_COMMAND_NOT_FOUND,
                  "python:3.12: ", "Leave python:3.12 out" },
                { "ghcr.io/acme/tool:1", ENOENT, ERROR_COMMAND_NOT_FOUND, "",
                  "provider: container" },
                { "./a:b", ENOENT, ERROR_COMMAND_NOT_FOUND, "", "Check the path" },
                { "sudo", ENOENT, ERROR_COMMAND_NOT_FOUND, "sudo: ", "Leave out sudo" },
                { NULL, ENOENT, ERROR_COMMAND_NOT_FOUND,
                  "there is no such command inside the sandbox", "" },
                { "./x", EACCES, ERROR_COMMAND_NOT_EXECUTABLE, "./x: Permission denied",
                  "chmod +x ./x. Or name its interpreter: sh ./x" },
                { "./x", ENOEXEC, ERROR_COMMAND_NOT_EXECUTABLE, "architecture (Exec format error)",
                  "Build it for this machine" },
                { "./x", ELIBACC, ERROR_COMMAND_NOT_EXECUTABLE, "interpreter",
                  "sed -i 's/\\r$//' ./x" },
                { "/etc", EISDIR, ERROR_COMMAND_NOT_EXECUTABLE, "a directory", "cwd" },
                { "x", E2BIG, ERROR_COMMAND_NOT_EXECUTABLE, "Argument list too long", "128 KiB" },
                { "x", ENAMETOOLONG, ERROR_COMMAND_NOT_EXECUTABLE, "File name too long", "" },
                { NULL, EACCES, ERROR_COMMAND_NOT_EXECUTABLE, "the command: Permission denied",
                  "chmod +x FILE" },
        };
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                assert_int_equal(lookup_refuse(rows[i].name, rows[i].sys, &e), -1);
                if (e.code != rows[i].code || !strstr(e.message, rows[i].message) ||
                    !strstr(e.hint, rows[i].hint))
                        fail_msg("row %zu: %s / %s", i, e.message, e.hint);
        }
}

int
main(void)
{
        static const struct CMUnitTest tests[] = { cmocka_unit_test(
                each_mistake_has_its_next_step) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
