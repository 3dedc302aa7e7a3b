/* volume/volume_test.c - what volume/volume.h promises. */
#include "volume/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unit.h"

enum { ID = 0x12ab };

struct bench {
        char top[64], place[VOLUME_PATH_MAX];
};

static int
set_up(void **state)
{
        static struct bench b;
        struct error e;

        (void)snprintf(b.top, sizeof b.top, "/tmp/carrel-volume-test-XXXXXX");
        assert_non_null(mkdtemp(b.top));
        assert_int_equal(volume_directory(b.top, "uid:7", b.place, &e), 0);
        *state = &b;
        return 0;
}

static int
tear_down(void **state)
{
        const struct bench *b = *state;
        char path[VOLUME_PATH_MAX + 16];
        struct volume_sweep sweep;

        volume_sweep_init(&sweep);
        assert_int_equal(volume_sweep(&sweep, b->place, UINT64_MAX), 0);
        (void)rmdir(b->place);
        (void)snprintf(path, sizeof path, "%s/volumes", b->top);
        (void)rmdir(path);
        return rmdir(b->top);
}

static void
each_owner_has_a_directory(void **state)
{
        static const struct {
                const char *owner, *name;
        } rows[] = {
                { "uid:0", "uid:0" }, { "uid:10", "uid:10" }, { "..", "=2e=2e" },
                { "a/b", "a=2fb" },   { "a=2fb", "a=3d2fb" }, { "\xc3\xa4", "=c3=a4" },
                { ".", "=2e" },       { "A_b-c", "A_b-c" },
        };
        char path[VOLUME_PATH_MAX], expected[VOLUME_PATH_MAX], owner[VOLUME_OWNER_MAX + 2],
                state_path[VOLUME_PATH_MAX];
        struct error e;

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                assert_int_equal(volume_directory("/s", rows[i].owner, path, &e), 0);
                (void)snprintf(expected, sizeof expected, "/s/volumes/%s", rows[i].name);
                assert_string_equal(path, expected);
        }
        memset(owner, '/', sizeof owner);
        owner[VOLUME_OWNER_MAX] = '\0';
        assert_int_equal(volume_directory("/s", owner, path, &e), 0);
        assert_int_equal(strlen(path), strlen("/s/volumes/") + 3 * VOLUME_OWNER_MAX);
        owner[VOLUME_OWNER_MAX] = '/';
        owner[VOLUME_OWNER_MAX + 1] = '\0';
        assert_int_equal(volume_directory("/s", owner, path, &e), -1);
        assert_int_equal(volume_directory("/s", "", path, &e), -1);
        memset(state_path, 'x', sizeof state_path);
        state_path[sizeof state_path - 1] = '\0';
        assert_int_equal(volume_directory(state_path, "uid:0", path, &e), -1);
        assert_int_equal(e.code, ERROR_STATE_UNUSABLE);
}

static void
is_locked_until_released(void **state)
{
        const struct bench *b = *state;
        struct volume_use one, two;
        char user[VOLUME_ID_LEN + 1];
        struct stat st;
        int data;

        assert_int_equal(volume_hold(b->place, "v", ID, 0, VOLUME_NO_BOUND, &one, &data), 0);
        assert_int_equal(fstat(data, &st), 0);
        assert_int_equal(st.st_mode, S_IFDIR | 0755);
        assert_int_equal(st.st_gid, getegid());
        (void)close(data);
        /* the bound applies to creation only */
        assert_int_equal(volume_hold(b->place, "v", ID, 1, 0, &two, &data), 0);
        (void)close(data);
        assert_int_equal(volume_remove(b->place, "v", user), -EBUSY);
        assert_string_equal(user, "00000000000012ab");
        volume_let_go(&one);
        volume_let_go(&one);
        assert_int_equal(volume_remove(b->place, "v", user), -EBUSY);
        volume_let_go(&two);
        assert_int_equal(volume_remove(b->place, "v", user), 0);
        assert_int_equal(volume_remove(b->place, "v", user), -ENOENT);
}

static void
is_bounded(void **state)
{
        const struct bench *b = *state;
        char user[VOLUME_ID_LEN + 1];
        struct volume_use use;
        bool is_new;
        int data;

        assert_int_equal(volume_create(b->place, "a", 2, &is_new), 0);
        assert_true(is_new);
        assert_int_equal(volume_create(b->place, "b", 2, &is_new), 0);
        assert_int_equal(volume_create(b->place, "c", 2, &is_new), -EUSERS);
        assert_int_equal(volume_hold(b->place, "c", ID, 0, 2, &use, &data), -EUSERS);
        assert_int_equal(volume_create(b->place, "a", 2, &is_new), 0);
        assert_false(is_new);
        assert_int_equal(volume_remove(b->place, "a", user), 0);
        assert_int_equal(volume_create(b->place, "c", 2, &is_new), 0);
        assert_int_equal(volume_remove(b->place, "b", user), 0);
        assert_int_equal(volume_remove(b->place, "c", user), 0);
}

static int
only(void *ctx, const struct volume_info *info)
{
        *(struct volume_info *)ctx = *info;
        return 0;
}

/* A sandbox may create directories of any depth. A keeper removes and counts them in parts. */
static void
erases_and_counts_within_a_budget(void **state)
{
        enum { DEPTH = 300, FILES = 40 };
        const struct bench *b = *state;
        struct volume_sweep sweep;
        struct volume_info info;
        struct volume_use use;
        char user[VOLUME_ID_LEN + 1], name[16];
        int top, dir, parts = 0, result;

        assert_int_equal(volume_hold(b->place, "v", ID, 0, VOLUME_NO_BOUND, &use, &top), 0);
        dir = openat(top, ".", O_RDONLY | O_DIRECTORY);
        for (int i = 0; i < FILES; i++) {
                (void)snprintf(name, sizeof name, "f%d", i);
                (void)close(openat(dir, name, O_CREAT | O_WRONLY, 0));
        }
        assert_int_equal(volume_list(b->place, UINT64_MAX, only, &info), 0);
        assert_int_equal(info.files, FILES);
        assert_int_equal(info.users, 1);
        assert_false(info.is_partial);
        assert_int_equal(volume_list(b->place, 10, only, &info), 0);
        assert_true(info.is_partial && info.files == 10);
        for (int i = 0; i < DEPTH; i++) {
                int next;

                assert_int_equal(mkdirat(dir, "d", 0700), 0);
                next = openat(dir, "d", O_RDONLY | O_DIRECTORY);
                assert_int_equal(symlinkat("/", next, "link"), 0);
                assert_int_equal(fchmod(dir, i % 3 == 0 ? 0 : 0500), 0);
                (void)close(dir);
                dir = next;
        }
        (void)close(dir);
        (void)close(top);
        volume_let_go(&use);
        assert_int_equal(volume_list(b->place, UINT64_MAX, only, &info), 0);
        assert_true(info.is_partial);
        assert_int_equal(volume_remove(b->place, "v", user), 0);
        volume_sweep_init(&sweep);
        while ((result = volume_sweep(&sweep, b->place, 100)) == 1)
                parts++;
        assert_int_equal(result, 0);
        assert_true(parts > 3);
        assert_int_equal(volume_list(b->place, UINT64_MAX, only, &info), 0);
}

static void
says_failures_in_words(void **state)
{
        static const struct {
                int result;
                enum error_code code;
        } rows[] = {
                { -EBUSY, ERROR_VOLUME_IN_USE },     { -ENOENT, ERROR_VOLUME_NOT_FOUND },
                { -EUSERS, ERROR_QUOTA_EXCEEDED },   { -EPERM, ERROR_STATE_UNUSABLE },
                { -EINVAL, ERROR_INVALID_ARGUMENT }, { -ENOSPC, ERROR_STORAGE_FULL },
                { -EROFS, ERROR_STATE_UNUSABLE },    { -EIO, ERROR_STATE_UNUSABLE },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct error e;

                assert_int_equal(volume_fail("v", rows[i].result, "1234", &e), -1);
                assert_int_equal(e.code, rows[i].code);
                assert_non_null(strstr(e.message, "v"));
        }
}

/* To free a file in many pieces can take the kernel a minute: it is shortened a part at a time. */
static void
a_long_file_is_erased_in_steps(void **state)
{
        enum { LEN = 64 << 20 };
        const struct bench *b = *state;
        struct volume_sweep sweep;
        struct volume_use use;
        char user[VOLUME_ID_LEN + 1];
        struct stat st;
        int top, fd, parts = 0;

        assert_int_equal(volume_hold(b->place, "v", ID, 0, VOLUME_NO_BOUND, &use, &top), 0);
        fd = openat(top, "long", O_CREAT | O_RDWR, 0600);
        assert_int_equal(posix_fallocate(fd, 0, LEN), 0);
        assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0); /* and a long hole */
        assert_int_equal(fchmod(fd, 0), 0);
        (void)close(top);
        volume_let_go(&use);
        assert_int_equal(volume_remove(b->place, "v", user), 0);
        volume_sweep_init(&sweep);
        while (volume_sweep(&sweep, b->place, 1) == 1) {
                assert_int_equal(fstat(fd, &st), 0);
                parts += st.st_nlink == 1 && st.st_size < LEN && st.st_size > 0;
        }
        assert_true(parts > 2);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_nlink, 0);
        (void)close(fd);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_owner_has_a_directory),
                cmocka_unit_test_setup_teardown(is_locked_until_released, set_up, tear_down),
                cmocka_unit_test_setup_teardown(is_bounded, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_long_file_is_erased_in_steps, set_up, tear_down),
                cmocka_unit_test_setup_teardown(erases_and_counts_within_a_budget, set_up,
                                                tear_down),
                cmocka_unit_test(says_failures_in_words),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
