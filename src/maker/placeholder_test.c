/* maker/placeholder_test.c - what maker/placeholder.h promises. */
#include "maker/placeholder.h"
#include "base/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "plan/protect.h"

struct bench {
        char path[32], outside[32];
        int source;
};

static struct bench b;

static int
bench_open(void **state)
{
        (void)state;
        (void)snprintf(b.path, sizeof b.path, "%s", "/tmp/carrel-holder-XXXXXX");
        (void)snprintf(b.outside, sizeof b.outside, "%s", "/tmp/carrel-holder-XXXXXX");
        if (!mkdtemp(b.path) || !mkdtemp(b.outside))
                return -1;
        b.source = open(b.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        return b.source < 0 ? -1 : 0;
}

/* Everything a test made must be gone by then, in both directories. */
static int
bench_close(void **state)
{
        (void)state;
        (void)close(b.source);
        return rmdir(b.path) < 0 || rmdir(b.outside) < 0 ? -1 : 0;
}

static struct step
step_of(const char *path, unsigned flags)
{
        return (struct step){ .op = STEP_PLACEHOLDER, .flags = flags, .source = 0, .path = path, .text = b.path,
                              .text_len = strlen(b.path), .why = "" };
}

static bool
look(const char *name, struct stat *ret)
{
        return fstatat(b.source, name, ret, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool
is_there(const char *name)
{
        struct stat st;

        return look(name, &st);
}

static bool
holds(const char *text, size_t len, const char *name)
{
        scoped_fd int fd = openat(b.source, name, O_RDONLY | O_CLOEXEC);
        char is[64];
        ssize_t got = fd < 0 ? -1 : read(fd, is, sizeof is);

        return got >= 0 && (size_t)got == len && memcmp(is, text, len) == 0;
}

static void
it_stands_with_its_mark_and_goes(void **state)
{
        static const struct { const char *path; unsigned flags; const char *content; } rows[] = {
                { ".bashrc", 0, "" }, { "SANDBOX.md", 0, "" }, { ".claude", STEP_DIRECTORY, NULL }, { "sub/deep/.envrc", 0, "" },
                { "sub/.vscode", STEP_DIRECTORY, NULL }, { ".git/commondir", 0, PROTECT_COMMONDIR_TEXT },
                { "sub/.git/commondir", 0, PROTECT_COMMONDIR_TEXT },
        };

        (void)state;
        assert_int_equal(mkdirat(b.source, "sub", 0700) + mkdirat(b.source, "sub/deep", 0700), 0);
        assert_int_equal(mkdirat(b.source, ".git", 0700) + mkdirat(b.source, "sub/.git", 0700), 0);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct step s = step_of(rows[i].path, rows[i].flags);
                struct stat st;

                assert_int_equal(placeholder_make(&s, b.source), 0);
                if (!look(rows[i].path, &st) || !protect_is_placeholder(&st) || S_ISDIR(st.st_mode) != (rows[i].content == NULL))
                        fail_msg("%s is no placeholder", rows[i].path);
                if (rows[i].content)
                        assert_true(holds(rows[i].content, strlen(rows[i].content), rows[i].path));
                assert_int_equal(placeholder_make(&s, b.source), 0);         /* another sandbox needs it too */
                placeholder_remove(&s);
                if (is_there(rows[i].path))
                        fail_msg("%s was left behind", rows[i].path);
                placeholder_remove(&s);                                     /* and nothing happens twice */
        }
        (void)unlinkat(b.source, "sub/.git", AT_REMOVEDIR);
        (void)unlinkat(b.source, ".git", AT_REMOVEDIR);
        (void)unlinkat(b.source, "sub/deep", AT_REMOVEDIR);
        assert_int_equal(unlinkat(b.source, "sub", AT_REMOVEDIR), 0);
}

static void
put(const char *name, const char *text, mode_t mode, time_t seconds)
{
        const struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };
        scoped_fd int fd = openat(b.source, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        assert_int_equal(fchmod(fd, mode), 0);
        assert_int_equal(futimens(fd, times), 0);
}

/* What is somebody's is not touched by the making, and stays at the removal. */
static void
what_is_somebodys_stays(void **state)
{
        static const struct { const char *what, *text; mode_t mode; time_t seconds; } rows[] = {
                { "an ordinary file", "export A=1\n", 0644, 1700000000 }, { "an empty one", "", 0644, 1700000000 },
                { "with the mark's mode", "", PLACEHOLDER_FILE, 1700000000 }, { "with the mark's time", "", 0600, PLACEHOLDER_TIME_S },
                { "filled since", "abc", PLACEHOLDER_FILE, PLACEHOLDER_TIME_S },
        };
        struct step s = step_of(".bashrc", 0);

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct stat before, after;

                put(".bashrc", rows[i].text, rows[i].mode, rows[i].seconds);
                assert_true(look(".bashrc", &before));
                assert_int_equal(placeholder_make(&s, b.source), 0);
                placeholder_remove(&s);
                if (!look(".bashrc", &after) || after.st_ino != before.st_ino || after.st_mode != before.st_mode ||
                    after.st_mtime != before.st_mtime || !holds(rows[i].text, strlen(rows[i].text), ".bashrc"))
                        fail_msg("%s was touched", rows[i].what);
                assert_int_equal(unlinkat(b.source, ".bashrc", 0), 0);
        }
}

static void
a_directory_that_was_filled_stays(void **state)
{
        struct step s = step_of(".claude", STEP_DIRECTORY);
        const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = PLACEHOLDER_TIME_S } };

        (void)state;
        assert_int_equal(placeholder_make(&s, b.source), 0);
        assert_int_equal(fchmodat(b.source, ".claude", 0700, 0), 0);
        put(".claude/hook", "x", 0600, 1);
        assert_int_equal(fchmodat(b.source, ".claude", PLACEHOLDER_DIRECTORY, 0), 0);
        assert_int_equal(utimensat(b.source, ".claude", times, 0), 0);
        placeholder_remove(&s);
        assert_true(is_there(".claude/hook"));
        assert_int_equal(fchmodat(b.source, ".claude", 0700, 0), 0);
        assert_int_equal(unlinkat(b.source, ".claude/hook", 0), 0);
        assert_int_equal(unlinkat(b.source, ".claude", AT_REMOVEDIR), 0);
}

/* B11: neither the making nor the removal goes through a link; in the place of the name itself a link is somebody's. */
static void
no_link_is_followed(void **state)
{
        struct step through = step_of("link/.bashrc", 0), at = step_of("to", 0);
        char name[64];
        struct stat st;

        (void)state;
        assert_int_equal(symlinkat(b.outside, b.source, "link"), 0);
        (void)snprintf(name, sizeof name, "%s/new", b.outside);
        assert_int_equal(symlinkat(name, b.source, "to"), 0);

        assert_true(placeholder_make(&through, b.source) < 0);
        assert_int_equal(placeholder_make(&at, b.source), 0);
        assert_int_equal(stat(name, &st), -1);
        placeholder_remove(&at);
        assert_true(is_there("to"));

        put("x", "", PLACEHOLDER_FILE, PLACEHOLDER_TIME_S);       /* looks like ours, and stands where the link leads */
        (void)snprintf(name, sizeof name, "%s/.bashrc", b.outside);
        assert_int_equal(renameat(b.source, "x", AT_FDCWD, name), 0);
        placeholder_remove(&through);
        assert_int_equal(unlink(name), 0);                         /* it was still there */

        assert_int_equal(unlinkat(b.source, "link", 0) + unlinkat(b.source, "to", 0), 0);
}

static const struct { const char *path; int result; } refusals[] = {
        { "missing/.bashrc", -ENOENT }, { "/.bashrc", -EINVAL }, { "a//b", -ENOENT },
};

static void
a_place_that_is_not_there_is_told(void **state)
{
        struct step gone = step_of(".bashrc", 0);

        (void)state;
        for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
                struct step s = step_of(refusals[i].path, 0);
                int result = placeholder_make(&s, b.source);

                if (result != refusals[i].result)
                        fail_msg("%s: %d, not %d", refusals[i].path, result, refusals[i].result);
                placeholder_remove(&s);
        }
        gone.text = "/tmp/carrel-holder-that-never-was";
        placeholder_remove(&gone);
        assert_int_equal(placeholder_make(&gone, -1), -EBADF);
}

static void
made_by_root_it_belongs_to_the_sources_owner(void **state)
{
        struct step file = step_of(".bashrc", 0), directory = step_of(".claude", STEP_DIRECTORY);
        struct stat st;

        (void)state;
        if (geteuid() != 0)
                skip();
        assert_int_equal(chown(b.path, 1234, 4321), 0);
        assert_int_equal(placeholder_make(&file, b.source) + placeholder_make(&directory, b.source), 0);
        assert_true(look(".bashrc", &st) && st.st_uid == 1234 && st.st_gid == 4321);
        assert_true(look(".claude", &st) && st.st_uid == 1234 && st.st_gid == 4321);
        placeholder_remove(&file);
        placeholder_remove(&directory);
        assert_false(is_there(".bashrc") || is_there(".claude"));
        assert_int_equal(chown(b.path, 0, 0), 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(it_stands_with_its_mark_and_goes, bench_open, bench_close),
                cmocka_unit_test_setup_teardown(what_is_somebodys_stays, bench_open, bench_close),
                cmocka_unit_test_setup_teardown(a_directory_that_was_filled_stays, bench_open, bench_close),
                cmocka_unit_test_setup_teardown(no_link_is_followed, bench_open, bench_close),
                cmocka_unit_test_setup_teardown(a_place_that_is_not_there_is_told, bench_open, bench_close),
                cmocka_unit_test_setup_teardown(made_by_root_it_belongs_to_the_sources_owner, bench_open, bench_close),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
