/* prepare/reach_test.c - what prepare/reach.h promises. */
#include "prepare/reach.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unit.h"

static const uint32_t stranger = 64321;

static bool
may(const char *path, uint32_t uid)
{
        struct stat st;

        assert_int_equal(lstat(path, &st), 0);
        return reach_may_open(path, st.st_dev, st.st_ino, uid);
}

static void
no_closed_directory_lies_on_the_way(void **state)
{
        static const struct {
                mode_t above, below;
                bool stranger, owner;
        } rows[] = {
                { 0755, 0755, true, true },  { 0700, 0755, false, true },
                { 0711, 0755, true, true },  { 0755, 0711, false, true },
                { 0755, 0700, false, true }, { 0705, 0755, false, true },
                { 0750, 0755, false, true }, { 0055, 0755, true, false },
                { 0755, 0705, false, true },
        };
        char folder[] = "/tmp/carrel-reach-XXXXXX", above[64], below[96], link[96];

        (void)state;
        assert_non_null(mkdtemp(folder));
        assert_int_equal(chmod(folder, 0755), 0);
        (void)snprintf(above, sizeof above, "%s/above", folder);
        (void)snprintf(below, sizeof below, "%s/below", above);
        (void)snprintf(link, sizeof link, "%s/link", folder);
        assert_int_equal(mkdir(above, 0755) | mkdir(below, 0755) | symlink(below, link), 0);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                struct stat st;

                assert_int_equal(chmod(above, 0755) | chmod(below, rows[i].below) |
                                         lstat(below, &st) | chmod(above, rows[i].above),
                                 0);
                if (reach_may_open(below, st.st_dev, st.st_ino, stranger) != rows[i].stranger)
                        fail_msg("row %zu: a stranger", i);
                /*
                 * an ordinary owner cannot look into a directory of their own that is closed to
                 * them: the answer is the same
                 */
                if (reach_may_open(below, st.st_dev, st.st_ino, geteuid()) != rows[i].owner)
                        fail_msg("row %zu: the owner", i);
        }
        assert_int_equal(chmod(above, 0755) | chmod(below, 0755), 0);
        assert_false(may(link, stranger));                   /* a link is not its target */
        assert_false(reach_may_open(below, 0, 1, stranger)); /* not the file that is shown */
        assert_int_equal(unlink(link) | rmdir(below) | rmdir(above) | rmdir(folder), 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(no_closed_directory_lies_on_the_way) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
