/*
 * base/counter_test.c - what base/counter.h promises, with memory files.
 */
#include "base/counter.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/unit.h"

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
                uint64_t value = counter_read(fd, reads[i].key);

                if (value != reads[i].value)
                        fail_msg("row %zu, key \"%s\": %llu", i, reads[i].key,
                                 (unsigned long long)value);
                /* the file offset of the descriptor does not matter */
                assert_true(counter_read(fd, reads[i].key) == value);
        }
        assert_true(counter_read(-1, "") == UINT64_MAX);
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

                assert_true(counter_read(fd, "oom") == UINT64_MAX);
        }
        memcpy(text + 4000, four, sizeof four);
        {
                scoped_fd int fd = file_of(text, sizeof text);

                assert_int_equal(counter_read(fd, "oom"), 4);
        }
}

static void
a_missing_file_or_directory_has_no_counter(void **state)
{
        (void)state;
        assert_true(counter_read_at(-1, "stat", "oom") == UINT64_MAX);
        assert_true(counter_read_at(AT_FDCWD, "/nonexistent", "") == UINT64_MAX);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_counter_is_read_by_its_key),
                cmocka_unit_test(a_counter_past_the_first_page_is_not_there),
                cmocka_unit_test(a_missing_file_or_directory_has_no_counter),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
