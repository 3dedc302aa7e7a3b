/* maker/ext4_test.c - what maker/ext4.h promises, checked by e2fsck. */
#include "base/unit.h"
#include "maker/ext4.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UID = 1900000001, GID = 70002 };

static int
new_file(uint64_t mb)
{
        int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);

        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, (off_t)ext4_bytes(mb)), 0);
        return fd;
}

/* The status of `e2fsck -fn`; 127 if the program is missing. */
static int
check(int fd)
{
        char path[64];
        int status;
        pid_t pid = fork();

        if (pid == 0) {
                (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
                (void)dup2(STDERR_FILENO, STDOUT_FILENO);
                (void)execle("/sbin/e2fsck", "e2fsck", "-fn", path, (char *)NULL,
                             (char *[]){ NULL });
                _exit(127);
        }
        return pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) ? -1
                                                                             : WEXITSTATUS(status);
}

/*
 * Sizes of exactly one group, slightly more, a short last group, many groups, and a last group that
 * is dropped.
 */
static void
is_sound_at_any_size(void **state)
{
        const uint64_t sizes[] = { 1,   2,   7,   32,   127,   128,    129,
                                   130, 255, 300, 2048, 20480, 600000, 700000 };

        (void)state;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                int fd = new_file(sizes[i]), status;
                struct stat st;

                assert_int_equal(ext4_format(fd, sizes[i], UID, GID), 0);
                assert_int_equal(fstat(fd, &st), 0);
                assert_true((uint64_t)st.st_size <= sizes[i] << 20 &&
                            (uint64_t)st.st_size + (128 << 20) > sizes[i] << 20);
                assert_true(sizes[i] >= 128 || (uint64_t)st.st_size == sizes[i] << 20);
                assert_true(st.st_blocks <= 512); /* 256 KiB for every size */
                status = check(fd);
                (void)close(fd);
                if (status == 127)
                        skip(); /* no e2fsck on this machine */
                if (status != 0)
                        fail_msg("e2fsck finds fault with %llu MiB: status %d",
                                 (unsigned long long)sizes[i], status);
        }
}

/* Shows that the check above can fail: one changed bit of a descriptor is enough. */
static void
a_changed_byte_is_found(void **state)
{
        int fd = new_file(300), status;
        const char byte = 0x55;

        (void)state;
        assert_int_equal(ext4_format(fd, 300, UID, GID), 0);
        assert_int_equal(pwrite(fd, &byte, 1, 4096 + 12), 1);
        status = check(fd);
        (void)close(fd);
        if (status == 127)
                skip(); /* no e2fsck on this machine */
        assert_int_not_equal(status, 0);
}

static void
refuses_sizes_it_cannot_make(void **state)
{
        const uint64_t sizes[] = { 0, EXT4_MB_MAX + UINT64_C(1), UINT64_MAX };
        int fd = new_file(0);
        struct stat st;

        (void)state;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                assert_int_equal(ext4_bytes(sizes[i]), 0);
                assert_int_equal(ext4_format(fd, sizes[i], UID, GID), -EINVAL);
        }
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_size, 0);
        (void)close(fd);
        fd = open("/dev/full", O_RDWR);
        assert_true(ext4_format(fd, 8, UID, GID) < 0);
        (void)close(fd);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(is_sound_at_any_size),
                cmocka_unit_test(a_changed_byte_is_found),
                cmocka_unit_test(refuses_sizes_it_cannot_make),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
