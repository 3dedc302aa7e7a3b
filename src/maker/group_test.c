/* maker/group_test.c - what maker/group.h promises, with ordinary files and directories. */
#include "base/unit.h"
#include "maker/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"

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
                cmocka_unit_test(a_number_is_written_in_digits),
                cmocka_unit_test(a_path_fits_or_is_refused),
                cmocka_unit_test(a_value_is_written_to_a_file_that_is_there),
                cmocka_unit_test(a_group_goes_with_two_levels_inside_it_and_stays_with_three),
        };

        return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
