/* maker/config_test.c - what maker/config.h promises. */
#include "maker/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/unit.h"

static char base[64];
static struct config one, other;

static int
bench_open(void **state)
{
        (void)state;
        memcpy(base, "/tmp/carrel-config-XXXXXX", 26);
        return mkdtemp(base) && chdir(base) == 0 ? 0 : -1;
}

static int
bench_close(void **state)
{
        (void)state;
        (void)unlink("config");
        return chdir("/") | rmdir(base);
}

static void
put(const char *text, size_t len)
{
        scoped_fd int fd = open("config", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_int_equal(write(fd, text, len), (ssize_t)len);
}

static void
only_a_file_is_read(void **state)
{
        static char huge[GIT_CONFIG_MAX + 1];
        scoped_fd int dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

        (void)state;
        assert_int_equal(guarded_config_read(dir, "config", &one), 0);
        assert_false(one.is_there);
        put("[a]\n", 4);
        assert_int_equal(guarded_config_read(dir, "config", &one), 0);
        assert_true(one.is_there && one.len == 4 && one.mode == 0600);
        assert_int_equal(guarded_config_read(-1, "config", &other), 0);
        assert_false(other.is_there || config_is_same(&one, &other));
        put(huge, GIT_CONFIG_MAX);
        assert_int_equal(guarded_config_read(dir, "config", &other), 0);
        assert_int_equal(other.len, GIT_CONFIG_MAX);
        put(huge, GIT_CONFIG_MAX + 1);
        assert_int_equal(guarded_config_read(dir, "config", &other), -EFBIG);
        assert_int_equal(unlink("config") | symlink("/etc/passwd", "config"), 0);
        assert_int_equal(guarded_config_read(dir, "config", &other), -ELOOP);
        assert_int_equal(unlink("config") | mkfifo("config", 0600), 0);
        assert_int_equal(guarded_config_read(dir, "config", &other), -EINVAL);
        assert_int_equal(config_write(dir, "config", &one), -EEXIST);
        assert_int_equal(unlink("config") | config_write(dir, "config", &one), 0);
        assert_int_equal(guarded_config_read(dir, "config", &other), 0);
        assert_true(config_is_same(&one, &other));
}

static bool
may_become(const char *text)
{
        char key[GIT_KEY_ROOM];

        other.len = strlen(text);
        memcpy(other.bytes, text, other.len);
        return config_may_become(&one, &other, key);
}

static void
a_child_judges(void **state)
{
        char key[GIT_KEY_ROOM];

        (void)state;
        one.len = 0;
        assert_true(may_become("[user]\nname = a\n"));
        assert_false(may_become("[core]\nfsmonitor = a\n"));
        assert_false(config_may_become(&one, &other, key));
        assert_string_equal(key, "core.fsmonitor");
        assert_false(may_become("[core\n"));
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(only_a_file_is_read, bench_open, bench_close),
                cmocka_unit_test(a_child_judges),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
