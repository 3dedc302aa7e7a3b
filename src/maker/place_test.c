/* maker/place_test.c - what maker/place.h promises, with openat2 and without it. */
#include "base/unit.h"
#include "maker/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scoped.h"

#define NAME_255                                                           \
        "012345678901234567890123456789012345678901234567890123456789012"  \
        "0123456789012345678901234567890123456789012345678901234567890123" \
        "0123456789012345678901234567890123456789012345678901234567890123" \
        "0123456789012345678901234567890123456789012345678901234567890123"

struct place_row {
        const char *path;
        const char *found; /* relative to the root; NULL: `result` instead */
        int result;
};

static const struct place_row places[] = {
        { "/", ".", 0 },
        { "", ".", 0 },
        { "//", ".", 0 },
        { "/dir", "dir", 0 },
        { "/dir/file", "dir/file", 0 },
        { "/dir/sub/deep", "dir/sub/deep", 0 },
        { "//dir///sub", "dir/sub", 0 },
        { "/dir/", "dir", 0 },
        { "/dir//", "dir", 0 },
        { "/dir/file/", "dir/file", 0 },
        { "/./dir/./file", "dir/file", 0 },
        { "/dir/.", "dir", 0 },
        { "/..dir", "..dir", 0 },
        { "/dir/...", "dir/...", 0 },
        { "/missing", NULL, -ENOENT },
        { "/dir/missing", NULL, -ENOENT },
        { "/missing/file", NULL, -ENOENT },
        { "/dir/file/x", NULL, -ENOTDIR },
        { "/" NAME_255, NULL, -ENOENT },
        { "/" NAME_255 "6", NULL, -EINVAL },
        /* B11: no link is followed, at any place of the path and with any target */
        { "/link", NULL, -ELOOP },
        { "/link/", NULL, -ELOOP },
        { "/link/file", NULL, -ELOOP },
        { "/dir/up", NULL, -ELOOP },
        { "/dir/up/dir", NULL, -ELOOP },
        { "/dir/dangling", NULL, -ELOOP },
        { "/out", NULL, -ELOOP },
        { "/out/passwd", NULL, -ELOOP },
        { "/dir/self/dir", NULL, -ELOOP },
        { "/magic", NULL, -ELOOP },
        { "/..", NULL, -EINVAL },
        { "/../x", NULL, -EINVAL },
        { "..", NULL, -EINVAL },
        { "/dir/..", NULL, -EINVAL },
        { "/dir/../dir", NULL, -EINVAL },
        { "/dir/../../etc", NULL, -EINVAL },
        { "/dir//..//dir", NULL, -EINVAL },
};

struct parent_row {
        const char *path, *parent, *name;
        int result;
};

static const struct parent_row parents[] = {
        { "/x", ".", "x", 0 },
        { "//x", ".", "x", 0 },
        { "/dir/file", "dir", "file", 0 },
        { "/dir/sub/new", "dir/sub", "new", 0 },
        { "/dir//new", "dir", "new", 0 },
        { "/dir/..new", "dir", "..new", 0 },
        { "/dir/link-may-stand-here", "dir", "link-may-stand-here", 0 },
        { "", NULL, NULL, -EINVAL },
        { "x", NULL, NULL, -EINVAL },
        { "/", NULL, NULL, -EINVAL },
        { "/dir/", NULL, NULL, -EINVAL },
        { "/dir/..", NULL, NULL, -EINVAL },
        { "/..", NULL, NULL, -EINVAL },
        { "/dir/.", NULL, NULL, -EINVAL },
        { "/dir/../new", NULL, NULL, -EINVAL },
        { "/missing/new", NULL, NULL, -ENOENT },
        { "/link/new", NULL, NULL, -ELOOP },
        { "/dir/up/new", NULL, NULL, -ELOOP },
        { "/dir/file/sub/new", NULL, NULL, -ENOTDIR },
};

static char root_path[] = "/tmp/carrel-place-XXXXXX";
static int root = -1;

static void
put_file(const char *name)
{
        scoped_fd int fd = openat(root, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
}

static int
make_tree(void **state)
{
        static const char *const directories[] = { "dir", "dir/sub", "..dir" }, *const files[] = {
                "dir/file", "dir/sub/deep", "dir/..."
        };
        static const char *const links[][2] = {
                { "dir", "link" }, { "..", "dir/up" },     { "nowhere", "dir/dangling" },
                { "/etc", "out" }, { "self", "dir/self" }, { "/proc/self/fd", "magic" },
        };

        (void)state;
        assert_non_null(mkdtemp(root_path));
        root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_true(root >= 0);
        for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
                assert_int_equal(mkdirat(root, directories[i], 0700), 0);
        for (size_t i = 0; i < sizeof files / sizeof *files; i++)
                put_file(files[i]);
        for (size_t i = 0; i < sizeof links / sizeof *links; i++)
                assert_int_equal(symlinkat(links[i][0], root, links[i][1]), 0);
        return 0;
}

static int
remove_tree(void **state)
{
        static const char *const names[] = { "magic",        "dir/self",     "out",
                                             "dir/dangling", "dir/up",       "link",
                                             "dir/...",      "dir/sub/deep", "dir/file" };

        (void)state;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                (void)unlinkat(root, names[i], 0);
        (void)unlinkat(root, "dir/sub", AT_REMOVEDIR);
        (void)unlinkat(root, "dir", AT_REMOVEDIR);
        (void)unlinkat(root, "..dir", AT_REMOVEDIR);
        (void)close(root);
        return rmdir(root_path);
}

static bool
is_same(int fd, const char *name)
{
        struct stat a, b;

        assert_int_equal(fstat(fd, &a), 0);
        assert_int_equal(fstatat(root, name, &b, AT_SYMLINK_NOFOLLOW), 0);
        return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static size_t
open_descriptors(void)
{
        size_t count = 0;

        for (int fd = 0; fd < 256; fd++)
                count += fcntl(fd, F_GETFD) >= 0;
        return count;
}

static void
check_places(void)
{
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
                scoped_fd int fd = place_open(root, places[i].path, PLACE_NO_LINKS);

                if (fd < 0 ? fd != places[i].result
                           : !places[i].found || !is_same(fd, places[i].found))
                        fail_msg("%s: %d (%s)", places[i].path, fd,
                                 fd < 0 ? strerror(-fd) : "opened");
                if (fd >= 0) {
                        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
                        assert_int_equal(fcntl(fd, F_GETFL) & O_PATH, O_PATH);
                }
        }
}

static void
check_parents(void)
{
        for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
                const char *name = NULL;
                scoped_fd int fd = place_open_parent(root, parents[i].path, PLACE_NO_LINKS, &name);

                if (fd < 0 ? fd != parents[i].result
                           : !parents[i].parent || !is_same(fd, parents[i].parent) ||
                                     strcmp(name, parents[i].name) != 0)
                        fail_msg("parent of %s: %d (%s)", parents[i].path, fd,
                                 fd < 0 ? strerror(-fd) : name);
        }
}

static void
a_very_long_path(void)
{
        static char path[16384];

        for (size_t i = 0; i + 1 < sizeof path; i++)
                path[i] = i % 2 == 0 ? '/' : '.';
        {
                scoped_fd int fd = place_open(root, path, PLACE_NO_LINKS);

                assert_true(fd >= 0 && is_same(fd, "."));
        }
        memcpy(path + sizeof path - 8, "/link/x", 8);
        assert_int_equal(place_open(root, path, PLACE_NO_LINKS), -ELOOP);
}

static bool
has_openat2(void)
{
        struct open_how how = { .flags = O_PATH | O_CLOEXEC };
        scoped_fd int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how);

        return fd >= 0;
}

static void
check_all(void)
{
        size_t before = open_descriptors();

        check_places();
        check_parents();
        a_very_long_path();
        assert_int_equal(open_descriptors(), before);
}

/* B11, in one call, if this kernel has it. */
static void
leaps(void **state)
{
        (void)state;
        if (!has_openat2())
                skip();
        check_all();
}

/* B11, step by step. This test closes openat2 for the rest of the process, so it is the last. */
static void
walks(void **state)
{
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { sizeof code / sizeof *code, code };

        (void)state;
        assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
        assert_false(has_openat2());
        assert_int_equal(errno, ENOSYS);
        check_all();
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(leaps),
                cmocka_unit_test(walks),
        };

        return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
