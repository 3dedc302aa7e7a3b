/* guest/path_walk_test.c - guest/path_walk.h: the kernel's own answers, and nothing in /proc. */
#include "base/unit.h"
#include "guest/path_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static int
set_up(void **state)
{
        (void)snprintf(folder, sizeof folder, "/tmp/carrel-way-XXXXXX");
        if (!mkdtemp(folder) || chdir(folder) < 0)
                return -1;
        if (mkdir("a", 0755) < 0 || mkdir("a/b", 0755) < 0 ||
            close(open("a/file", O_CREAT | O_WRONLY, 0644)) < 0)
                return -1;
        if (symlink("a/b", "to-b") < 0 || symlink("b/", "a/to-b") < 0 ||
            symlink("file", "a/to-file") < 0 || symlink("loop", "loop") < 0 ||
            symlink("missing", "dangling") < 0 || symlink("/proc/self", "to-self") < 0 ||
            symlink("no/way/at/all", "far") < 0)
                return -1;
        return 0;
}

/* Removes what set_up() and the tests created, deepest first. */
static int
tear_down(void **state)
{
        static const char *const names[] = { "a/file",   "a/to-b",  "a/to-file", "to-b",   "loop",
                                             "dangling", "to-self", "far",       "a/b",    "a",
                                             "n/e",      "n",       "no/way/at", "no/way", "no" };
        char name[16];

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                (void)remove(names[i]);
        for (int i = 1; i <= PATH_WALK_LINKS_MAX + 1; i++) {
                (void)snprintf(name, sizeof name, "l%d", i);
                (void)remove(name);
        }
        return chdir("/") < 0 || rmdir(folder) < 0 ? -1 : 0;
}

struct row {
        const char *path;
        unsigned flags;
        int sys;
        const char *dir, *name; /* where the path leads */
};

static const struct row rows[] = {
        { "a", 0, 0, ".", "a" },
        { "a/file", 0, 0, "a", "file" },
        { "a/b/", 0, 0, "a", "b" },
        { ".//a/./b/../file", 0, 0, "a", "file" },
        { "/", 0, 0, "/", "." },
        { ".", 0, 0, ".", "." },
        { "a/..", 0, 0, "a", ".." },
        { "/../../..", 0, 0, "/", ".." },
        { "missing", 0, 0, ".", "missing" },
        { "missing/x", 0, ENOENT, NULL, NULL },
        { "a/file/x", 0, ENOTDIR, NULL, NULL },
        { "", 0, ENOENT, NULL, NULL },
        { "to-b", 0, 0, ".", "to-b" },
        { "to-b", PATH_WALK_FOLLOW, 0, "a", "b" },
        { "to-b/", 0, 0, "a", "b" },
        { "to-b/x", 0, 0, "a/b", "x" },
        { "a/to-b/x", 0, 0, "a/b", "x" },
        { "a/to-file", PATH_WALK_FOLLOW, 0, "a", "file" },
        { "a/to-file/x", 0, ENOTDIR, NULL, NULL },
        { "loop", 0, 0, ".", "loop" },
        { "loop", PATH_WALK_FOLLOW, ELOOP, NULL, NULL },
        { "loop/x", 0, ELOOP, NULL, NULL },
        { "dangling", PATH_WALK_FOLLOW, 0, ".", "missing" },
        { "far", PATH_WALK_FOLLOW, ENOENT, NULL, NULL },
        { "/proc", 0, 0, "/", "proc" },
        { "/proc/1", 0, EACCES, NULL, NULL },
        { "/proc/self/root/etc/hostname", PATH_WALK_FOLLOW, EACCES, NULL, NULL },
        { "/proc/..", 0, EACCES, NULL, NULL },
        { "to-self", 0, 0, ".", "to-self" },
        { "to-self", PATH_WALK_FOLLOW, EACCES, NULL, NULL },
        { "to-self/environ", 0, EACCES, NULL, NULL },
        { "/dev/fd/0", 0, EACCES, NULL, NULL },
        { "/dev/stdin", PATH_WALK_FOLLOW, EACCES, NULL, NULL },
};

static void
each_path_leads_where_it_should(void **state)
{
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct row *row = &rows[i];
                struct stat got, wanted;
                struct path_walk w;
                int sys = path_walk_open(row->path, row->flags, &w);

                if (sys != row->sys)
                        fail_msg("%s: %s, not %s", row->path, strerror(sys), strerror(row->sys));
                if (sys != 0)
                        continue;
                assert_int_equal(fstat(w.dir, &got), 0);
                assert_int_equal(stat(row->dir, &wanted), 0);
                if (got.st_ino != wanted.st_ino || got.st_dev != wanted.st_dev ||
                    strcmp(w.name, row->name) != 0)
                        fail_msg("%s leads to %s elsewhere", row->path, w.name);
                path_walk_fini(&w);
                assert_int_equal(w.dir, -1);
        }
}

static void
long_names_are_refused_and_none_is_cut(void **state)
{
        char path[FILE_PATH_MAX + 3];
        struct path_walk w;

        memset(path, 'x', sizeof path);
        path[PATH_WALK_NAME_MAX] = '\0';
        assert_int_equal(path_walk_open(path, 0, &w), 0);
        assert_int_equal(strlen(w.name), PATH_WALK_NAME_MAX);
        path_walk_fini(&w);
        path[PATH_WALK_NAME_MAX] = 'x';
        path[PATH_WALK_NAME_MAX + 1] = '\0';
        assert_int_equal(path_walk_open(path, 0, &w), ENAMETOOLONG);
        for (size_t i = 0; i + 1 < sizeof path; i += 2)
                memcpy(path + i, "./", 2);
        path[FILE_PATH_MAX] = '\0';
        assert_int_equal(path_walk_open(path, 0, &w), 0);
        path_walk_fini(&w);
        path[FILE_PATH_MAX] = '/';
        path[FILE_PATH_MAX + 1] = '\0';
        assert_int_equal(path_walk_open(path, 0, &w), ENAMETOOLONG);
}

static void
what_is_missing_is_made_on_the_way_only(void **state)
{
        struct stat st;
        struct path_walk w;

        assert_int_equal(path_walk_open("n/e/w", PATH_WALK_MAKE, &w), 0);
        assert_string_equal(w.name, "w");
        assert_int_equal(fstatat(w.dir, "w", &st, 0), -1);
        path_walk_fini(&w);
        assert_int_equal(stat("n/e", &st), 0);
        assert_true(S_ISDIR(st.st_mode));
        assert_int_equal(path_walk_open("far", PATH_WALK_MAKE | PATH_WALK_FOLLOW, &w), 0);
        assert_string_equal(w.name, "all");
        path_walk_fini(&w);
        assert_int_equal(stat("no/way/at", &st), 0);
        assert_int_equal(path_walk_open("a/file/x/y", PATH_WALK_MAKE, &w), ENOTDIR);
}

/* Like the kernel, follows 40 links and not more. */
static void
links_have_an_end(void **state)
{
        char name[16], next[16];
        struct path_walk w;

        for (int i = 1; i <= PATH_WALK_LINKS_MAX + 1; i++) {
                (void)snprintf(name, sizeof name, "l%d", i);
                (void)snprintf(next, sizeof next, i == 1 ? "a" : "l%d", i - 1);
                assert_int_equal(symlink(next, name), 0);
        }
        assert_int_equal(path_walk_open("l40", PATH_WALK_FOLLOW, &w), 0);
        assert_string_equal(w.name, "a");
        path_walk_fini(&w);
        assert_int_equal(path_walk_open("l41", PATH_WALK_FOLLOW, &w), ELOOP);
}

static void
nothing_stays_open(void **state)
{
        int before = dup(0), after;
        struct path_walk w;

        assert_int_equal(close(before), 0);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
                if (path_walk_open(rows[i].path, rows[i].flags, &w) == 0)
                        path_walk_fini(&w);
        after = dup(0);
        assert_int_equal(after, before);
        assert_int_equal(close(after), 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_path_leads_where_it_should),
                cmocka_unit_test(long_names_are_refused_and_none_is_cut),
                cmocka_unit_test(what_is_missing_is_made_on_the_way_only),
                cmocka_unit_test(links_have_an_end),
                cmocka_unit_test(nothing_stays_open),
        };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
