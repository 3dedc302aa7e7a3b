/*
 * maker/image_test.c - what maker/image.h promises: a fixed size, an owner, and nothing left
 * behind, also after SIGKILL.
 */
#include "base/unit.h"
#include "maker/image.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "maker/kernel.h"

enum { OWNER = 1900000001, MB = 24, KILLS = 40, ALWAYS_MS = 60000 };

static int
open_place(void)
{
        return open("/var/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* A mount, or -1 if it cannot be created: no root, no ext4 or no loop device. */
static int
make(void)
{
        int place = open_place(),
            mount = geteuid() == 0 ? image_open(place, MB, OWNER, OWNER) : -EPERM;

        (void)close(place);
        return mount;
}

/* Whether a loop device still has a backing file of the size that only this test uses. */
static bool
is_there(void)
{
        char path[64], text[32];

        for (int i = 0; i < 512; i++) {
                int fd;
                ssize_t len;

                (void)snprintf(path, sizeof path, "/sys/block/loop%d/loop/backing_file", i);
                if (access(path, F_OK) < 0)
                        continue;
                (void)snprintf(path, sizeof path, "/sys/block/loop%d/size", i);
                fd = open(path, O_RDONLY);
                len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
                if (fd >= 0)
                        (void)close(fd);
                text[len > 0 ? len : 0] = '\0';
                if (strtol(text, NULL, 10) == MB * 2048L)
                        return true;
        }
        return false;
}

static void
must_go(void)
{
        for (int ms = 0; is_there() && ms < ALWAYS_MS; ms++)
                (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        assert_false(is_there());
}

static void
holds_its_size_and_belongs_to_the_box(void **state)
{
        static const char bytes[1 << 16];
        int mount = make(), fd;
        struct statvfs fs;
        struct stat st;
        size_t written = 0;

        (void)state;
        if (mount < 0)
                skip(); /* an image needs root, ext4 and loop devices */
        assert_true(is_there());
        assert_int_equal(fstat(mount, &st), 0);
        assert_int_equal(st.st_uid, OWNER);
        assert_int_equal(st.st_gid, OWNER);
        assert_int_equal(st.st_mode & 07777, 0755);
        assert_int_equal(fstatvfs(mount, &fs), 0);
        assert_int_equal(fs.f_flag & (ST_NOSUID | ST_NODEV), ST_NOSUID | ST_NODEV);
        fd = openat(mount, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        while (written <= MB << 20 && write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes)
                written += sizeof bytes;
        assert_in_range(written, (MB - 3) << 20, MB << 20);
        assert_int_equal(mknodat(mount, "null", S_IFCHR | 0666, makedev(1, 3)), 0);
        assert_int_equal(openat(mount, "null", O_RDONLY), -1);
        assert_int_equal(errno, EACCES);
        (void)close(fd);
        (void)close(mount);
        must_go();
}

static void
a_place_that_cannot_hold_one_is_refused(void **state)
{
        int memory = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC), place = open_place();

        (void)state;
        assert_true(image_open(memory, MB, OWNER, OWNER) < 0);
        assert_int_equal(image_open(place, 0, OWNER, OWNER), -EINVAL);
        (void)close(memory);
        (void)close(place);
}

/* Kills the maker at any moment of the creation, or while it holds the mount. */
static void
a_killed_maker_leaves_nothing(void **state)
{
        int mount = make();

        (void)state;
        if (mount < 0)
                skip(); /* an image needs root, ext4 and loop devices */
        (void)close(mount);
        for (int i = 0; i < KILLS; i++) {
                pid_t pid = fork();

                if (pid == 0) {
                        (void)make();
                        (void)pause();
                        _exit(0);
                }
                /* tries many moments; the expected result is the same for all */
                (void)nanosleep(&(struct timespec){ .tv_nsec = i * 100000L }, NULL);
                (void)kill(pid, SIGKILL);
                assert_int_equal(waitpid(pid, NULL, 0), pid);
        }
        must_go();
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(holds_its_size_and_belongs_to_the_box),
                cmocka_unit_test(a_place_that_cannot_hold_one_is_refused),
                cmocka_unit_test(a_killed_maker_leaves_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
