/* maker/group_test.c - what maker/group.h promises, with ordinary files and directories. */
#include "base/unit.h"
#include "maker/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"

static int
file_of(const char *text, size_t len)
{
        int fd = memfd_create("group", MFD_CLOEXEC);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, len), (ssize_t)len);
        return fd;
}

struct read_row {
        const char *text, *key;
        uint64_t value;
};

#define STAT "usage_usec 1234\nuser_usec 1000\nsystem_usec 234\nnr_periods 0\n"
#define EVENTS "low 0\nhigh 3\nmax 10\noom 2\noom_kill 1\noom_group_kill 4\n"

static const struct read_row reads[] = {
        { "0\n", "", 0 },
        { "123456789012\n", "", 123456789012u },
        { "7", "", 7 },
        { "18446744073709551614\n", "", UINT64_MAX - 1 },
        { STAT, "usage_usec", 1234 },
        { STAT, "system_usec", 234 },
        { STAT, "usec", UINT64_MAX },
        { STAT, "usage", UINT64_MAX },
        { STAT, "nr_periods", 0 },
        { STAT, "nothing", UINT64_MAX },
        { EVENTS, "oom", 2 },
        { EVENTS, "oom_kill", 1 },
        { EVENTS, "oom_group_kill", 4 },
        { EVENTS, "kill", UINT64_MAX },
        { "oom_kill_disable 0\nunder_oom 1\noom_kill 5", "oom_kill", 5 },
        { "", "", UINT64_MAX },
        { "", "oom", UINT64_MAX },
        { "oom", "oom", UINT64_MAX },
        { "oom\n", "oom", UINT64_MAX },
        { "\n\noom 6\n", "oom", 6 },
        /* text that is not a number gives UINT64_MAX: unknown */
        { "max\n", "", UINT64_MAX },
        { "oom \n", "oom", UINT64_MAX },
        { "oom many\n", "oom", UINT64_MAX },
        { "-1\n", "", UINT64_MAX },
        { "oom \nlow 3\n", "oom", UINT64_MAX },
        { "\n5\n", "", UINT64_MAX },
};

static void
a_counter_is_read_by_its_key(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
                scoped_fd int fd = file_of(reads[i].text, strlen(reads[i].text));
                uint64_t value = group_read(fd, reads[i].key);

                if (value != reads[i].value)
                        fail_msg("row %zu, key \"%s\": %llu", i, reads[i].key,
                                 (unsigned long long)value);
                /* the file offset of the descriptor does not matter */
                assert_true(group_read(fd, reads[i].key) == value);
        }
        assert_true(group_read(-1, "") == UINT64_MAX);
}

static void
a_counter_past_the_first_page_is_not_there(void **state)
{
        static const char three[] = { 'o', 'o', 'm', ' ', '3', '\n' },
                          four[] = { 'o', 'o', 'm', ' ', '4', '\n' };
        static char text[8192];

        (void)state;
        memset(text, '\n', sizeof text);
        memcpy(text + 5000, three, sizeof three);
        {
                scoped_fd int fd = file_of(text, sizeof text);

                assert_true(group_read(fd, "oom") == UINT64_MAX);
        }
        memcpy(text + 4000, four, sizeof four);
        {
                scoped_fd int fd = file_of(text, sizeof text);

                assert_int_equal(group_read(fd, "oom"), 4);
        }
}

static const struct {
        uint64_t number;
        const char *text;
} numbers[] = {
        { 0, "0" },
        { 9, "9" },
        { 10, "10" },
        { 4194304, "4194304" },
        { UINT64_MAX, "18446744073709551615" },
};

static void
a_number_is_written_in_digits(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
                char out[21];

                assert_int_equal(group_number(out, numbers[i].number), strlen(numbers[i].text));
                assert_string_equal(out, numbers[i].text);
        }
}

static void
a_path_fits_or_is_refused(void **state)
{
        char out[12];

        (void)state;
        assert_int_equal(group_path(out, sizeof out, "/group", "file"), 0);
        assert_string_equal(out, "/group/file");
        assert_int_equal(group_path(out, sizeof out - 1, "/group", "file"), -ENAMETOOLONG);
}

static char directory[] = "/tmp/carrel-group-XXXXXX";
static char path[128];

static const char *
in_directory(const char *name)
{
        (void)snprintf(path, sizeof path, "%s/%s", directory, name);
        return path;
}

static int
make_directory(void **state)
{
        (void)state;
        return mkdtemp(directory) ? 0 : -1;
}

static int
remove_directory(void **state)
{
        (void)state;
        return rmdir(directory);
}

static void
a_value_is_written_to_a_file_that_is_there(void **state)
{
        char text[16] = "";

        (void)state;
        assert_int_equal(group_write(in_directory("file"), "513", 3), -ENOENT);
        assert_int_equal(access(path, F_OK), -1);
        {
                scoped_fd int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

                assert_int_equal(group_write(path, "513", 3), 0);
                assert_int_equal(group_write_words(path, "+cpu +pids"), 0);
                /* each word is one write at the start of the file */
                assert_int_equal(read(fd, text, sizeof text - 1), 5);
                assert_string_equal(text, "+pids");
        }
        assert_int_equal(unlink(path), 0);
        /* a missing file is not an error */
        assert_int_equal(group_write_words(path, "+cpu +pids"), 0);
        assert_int_equal(group_write(directory, "1", 1), -EISDIR);
        assert_int_equal(group_write_words(directory, "1"), -EISDIR);
        assert_int_equal(group_write("/dev/full", "1", 1), -ENOSPC);
}

static void
a_group_goes_with_two_levels_inside_it_and_stays_with_three(void **state)
{
        static const char *const levels[] = { "work", "work/g0", "work/g0/more" };
        char inner[3][192];

        (void)state;
        assert_int_equal(group_remove(in_directory("gone")), 0);
        for (size_t deep = 0; deep <= 3; deep++) {
                assert_int_equal(mkdir(path, 0700), 0);
                for (size_t i = 0; i < deep; i++) {
                        (void)snprintf(inner[i], sizeof inner[i], "%s/%s", path, levels[i]);
                        assert_int_equal(mkdir(inner[i], 0700), 0);
                }
                assert_int_equal(group_remove(path), deep < 3 ? 0 : -EBUSY);
                assert_int_equal(access(path, F_OK), deep < 3 ? -1 : 0);
        }
        assert_int_equal(rmdir(inner[2]), 0);
        assert_int_equal(group_remove(path), 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_counter_is_read_by_its_key),
                cmocka_unit_test(a_counter_past_the_first_page_is_not_there),
                cmocka_unit_test(a_number_is_written_in_digits),
                cmocka_unit_test(a_path_fits_or_is_refused),
                cmocka_unit_test(a_value_is_written_to_a_file_that_is_there),
                cmocka_unit_test(a_group_goes_with_two_levels_inside_it_and_stays_with_three),
        };

        return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
