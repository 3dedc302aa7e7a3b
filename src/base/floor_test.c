/* base/floor_test.c - what base/floor.h promises. */
#include "base/floor.h"
#include "base/unit.h"

#define MIB (1ull << 20)

static void
keeps_a_part_of_bytes_and_of_inodes(void **state)
{
        static const struct {
                const char *what;
                uint64_t mib, free_mib, files, free_files;
                bool is_passed;
        } rows[] = {
                { "empty", 10000, 10000, 600000, 600000, false },
                { "large, at the floor", 10000, 32, 600000, 600000, false },
                { "large, below the floor", 10000, 31, 600000, 600000, true },
                { "small, at a fiftieth", 100, 2, 3000, 3000, false },
                { "small, below a fiftieth", 100, 1, 3000, 3000, true },
                { "few inodes, at a fiftieth", 10000, 5000, 3000, 60, false },
                { "few inodes, below a fiftieth", 10000, 5000, 3000, 59, true },
                { "many inodes, at the floor", 10000, 5000, 600000, FLOOR_INODES, false },
                { "many inodes, below the floor", 10000, 5000, 600000, FLOOR_INODES - 1, true },
                { "no inode left", 10000, 5000, 3000, 0, true },
                { "no table of inodes", 10000, 5000, 0, 0, false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct statvfs fs = { .f_frsize = 4096 };

                fs.f_blocks = (fsblkcnt_t)(rows[i].mib * MIB / 4096);
                fs.f_bavail = (fsblkcnt_t)(rows[i].free_mib * MIB / 4096);
                fs.f_files = (fsfilcnt_t)rows[i].files;
                fs.f_favail = (fsfilcnt_t)rows[i].free_files;
                if (floor_is_passed(&fs, 32) != rows[i].is_passed)
                        fail_msg("%s: %d", rows[i].what, !rows[i].is_passed);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(keeps_a_part_of_bytes_and_of_inodes) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
