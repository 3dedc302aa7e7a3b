/* secret/values_test.c - what secret/values.h promises. */
#include "secret/values.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unit.h"

static char path[64];

static void
write_values(const char *bytes, size_t len, mode_t mode)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, len), (ssize_t)len);
        assert_int_equal(fchmod(fd, mode), 0);
        (void)close(fd);
}

static int
set_up(void **state)
{
        int fd;

        (void)state;
        (void)snprintf(path, sizeof path, "/tmp/carrel-values-test-XXXXXX");
        fd = mkstemp(path);
        assert_true(fd >= 0);
        (void)close(fd);
        return 0;
}

static int
tear_down(void **state)
{
        (void)state;
        return unlink(path);
}

static void
holds_values_unchanged(void **state)
{
        static const char text[] =
                "# development\n\nopenai-api-key=sk=with=equals\nacme/db= a b \nlast=no line end";
        struct secret_values *values;
        const char *value;
        struct error e;

        (void)state;
        write_values(text, sizeof text - 1, 0600);
        assert_int_equal(secret_values_open(path, &values, &e), 0);
        assert_int_equal(secret_value_find(values, "openai-api-key", "env", &value, &e), 0);
        assert_string_equal(value, "sk=with=equals");
        assert_int_equal(secret_value_find(values, "acme/db", "env", &value, &e), 0);
        assert_string_equal(value, " a b ");
        assert_int_equal(secret_value_find(values, "last", "env", &value, &e), 0);
        assert_string_equal(value, "no line end");
        assert_int_equal(secret_value_find(values, "none", "env/auth/state/env/0", &value, &e), -1);
        assert_int_equal(e.code, ERROR_AUTH_UNRESOLVABLE);
        assert_string_equal(e.path, "env/auth/state/env/0");
        secret_values_free(values);
        secret_values_free(NULL);
}

static void
answers_without_a_source(void **state)
{
        const char *value;
        struct error e;

        (void)state;
        assert_int_equal(secret_value_find(NULL, "ab", "env", &value, &e), -1);
        assert_string_equal(e.reason, "not_found");
}

static void
refuses_bad_lines_without_saying_them(void **state)
{
        static const struct {
                const char *bytes;
                size_t len;
        } rows[] = {
#define ROW(text) { (text), sizeof(text) - 1 }
                ROW("ab=\n"),
                ROW("CANARY\n"),
                ROW("ab=CANARY\r\n"),
                ROW("ab=CAN\0ARY\n"),
                ROW("AB=CANARY\n"),
                ROW("=CANARY\n"),
                ROW("ab=CANARY\nab=CANARY\n"),
                ROW("ab =CANARY\n"),
                ROW(" ab=CANARY\n"),
#undef ROW
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct secret_values *values = NULL;
                struct error e;

                write_values(rows[i].bytes, rows[i].len, 0600);
                if (secret_values_open(path, &values, &e) == 0)
                        fail_msg("accepted: %s", rows[i].bytes);
                assert_int_equal(e.code, ERROR_AUTH_UNRESOLVABLE);
                assert_null(strstr(e.message, "CAN"));
                assert_null(strstr(e.hint, "CAN"));
        }
}

static void
refuses_files_that_are_not_private(void **state)
{
        static const mode_t modes[] = { 0640, 0604, 0620, 0602, 0666, 0610 };
        struct secret_values *values;
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
                write_values("ab=x\n", 5, modes[i]);
                assert_int_equal(secret_values_open(path, &values, &e), -1);
                assert_string_equal(e.reason, "mode");
        }
        write_values("ab=x\n", 5, 0400);
        assert_int_equal(secret_values_open(path, &values, &e), 0);
        secret_values_free(values);
        assert_int_equal(chmod(path, 0600), 0);
        if (geteuid() == 0) {
                assert_int_equal(chown(path, 12345, 12345), 0);
                assert_int_equal(secret_values_open(path, &values, &e), -1);
                assert_string_equal(e.reason, "owner");
                assert_int_equal(chown(path, 0, 0), 0);
        }
        assert_int_equal(secret_values_open("/no/such/file", &values, &e), -1);
        assert_string_equal(e.reason, "not_found");
        assert_int_equal(secret_values_open("/tmp", &values, &e), -1);
        assert_string_equal(e.reason, "not_regular");
        assert_int_equal(secret_values_open("/dev/zero", &values, &e), -1);
}

static void
has_bounds(void **state)
{
        size_t len = SECRET_FILE_MAX + 1;
        char *big = malloc(len);
        struct secret_values *values;
        struct error e;

        (void)state;
        assert_non_null(big);
        memset(big, '#', len);
        write_values(big, len, 0600);
        assert_int_equal(secret_values_open(path, &values, &e), -1);
        write_values(big, len - 1, 0600);
        assert_int_equal(secret_values_open(path, &values, &e), 0);
        secret_values_free(values);
        len = 0;
        for (int i = 0; i <= SECRET_VALUES_MAX; i++)
                len += (size_t)snprintf(big + len, SECRET_FILE_MAX - len, "slug-%d=x\n", i);
        write_values(big, len, 0600);
        assert_int_equal(secret_values_open(path, &values, &e), -1);
        assert_non_null(strstr(e.message, "line 513"));
        free(big);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(holds_values_unchanged),
                cmocka_unit_test(answers_without_a_source),
                cmocka_unit_test(refuses_bad_lines_without_saying_them),
                cmocka_unit_test(refuses_files_that_are_not_private),
                cmocka_unit_test(has_bounds),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
