/*
 * host/programs_test.c - a program by its name, its path, a link and a copy.
 */
#include "host/programs.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void
a_word_is_the_program_of_its_file(void **state)
{
        char folder[] = "/tmp/carrel-programs-XXXXXX";
        struct host_programs p;
        struct arena arena;
        int fd, copy;

        (void)state;
        assert_non_null(mkdtemp(folder));
        fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(symlinkat("/bin/env", fd, "link"), 0);
        copy = openat(fd, "env", O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
        assert_true(copy >= 0);
        assert_int_equal(close(copy), 0);
        arena_init(&arena, 8 << 20);
        host_programs_init(&p, &arena, fd);

        assert_string_equal(host_programs_find(&p, "env"), "env");
        assert_null(p.items);
        assert_string_equal(host_programs_find(&p, "/bin/env"), "env");
        assert_string_equal(host_programs_find(&p, "/proc/self/root/usr/bin/env"), "env");
        assert_string_equal(host_programs_find(&p, "./link"), "env");
        assert_null(host_programs_find(&p, "./env"));
        assert_null(host_programs_find(&p, "./none"));
        assert_null(host_programs_find(&p, "no-such-program"));
        assert_null(host_programs_find(&p, "/etc/passwd"));
        assert_null(host_programs_find(&p, "/bin"));
        assert_null(host_programs_find(&p, ""));
        assert_true(host_programs_same(&p, "env", "./link"));
        assert_false(host_programs_same(&p, "env", "./env"));
        assert_false(host_programs_same(&p, "none", "none"));

        arena_fini(&arena);
        (void)unlinkat(fd, "link", 0);
        (void)unlinkat(fd, "env", 0);
        (void)close(fd);
        (void)rmdir(folder);
}

/* Another root: /bin/busybox is ls and cat, /bin/tool has one name, /bin/loop is not known. */
static const struct {
        const char *path, *real;
        enum host_found found;
        ino_t inode; /* 0: a directory */
} files[] = {
        { "/bin", "/bin", HOST_FOUND, 0 },
        { "/opt", "/opt", HOST_FOUND, 0 },
        { "/mounted", NULL, HOST_UNKNOWN, 0 },
        { "/bin/busybox", "/bin/busybox", HOST_FOUND, 1 },
        { "/bin/ls", "/bin/busybox", HOST_FOUND, 1 },
        { "/bin/tool", "/bin/tool", HOST_FOUND, 2 },
        { "/bin/loop", NULL, HOST_UNKNOWN, 0 },
        { "/opt/loop", "/opt/loop", HOST_FOUND, 3 },
        { "/opt/late", "/opt/late", HOST_FOUND, 4 },
        { "/srv/tool", "/bin/tool", HOST_FOUND, 2 },
        { "/srv/other", "/bin/tool", HOST_FOUND, 2 },
        { "/srv/erase", "/bin/busybox", HOST_FOUND, 1 },
};

enum { FILES = sizeof files / sizeof *files };

static enum host_found
find_fake(void *context, const char *path, char real[HOST_PROGRAM_PATH], struct stat *ret)
{
        (void)context;
        for (size_t i = 0; i < FILES; i++) {
                if (strcmp(files[i].path, path) != 0)
                        continue;
                *ret = (struct stat){ .st_mode =
                                              files[i].inode == 0 ? S_IFDIR | 0755 : S_IFREG | 0755,
                                      .st_ino = files[i].inode };
                (void)snprintf(real, HOST_PROGRAM_PATH, "%s", files[i].real ? files[i].real : "");
                return files[i].found;
        }
        return HOST_ABSENT;
}

static void
each_fake(void *context, const char *path, void (*visit)(void *of, const char *name), void *of)
{
        size_t len = strlen(path);

        (void)context;
        for (size_t i = 0; i < FILES; i++)
                if (strncmp(files[i].path, path, len) == 0 && files[i].path[len] == '/')
                        visit(of, files[i].path + len + 1);
}

static void
close_fake(void *context)
{
        ++*(int *)context;
}

static void
in_another_root_what_is_not_known_ends_the_search(void **state)
{
        int closed = 0;
        const struct host_tree tree = { find_fake, each_fake, close_fake, &closed };
        struct host_programs p;
        struct arena arena;
        const char *near;

        (void)state;
        arena_init(&arena, 8 << 20);
        host_programs_init(&p, &arena, AT_FDCWD);
        host_programs_inside(&p, &tree, "/bin:/nothing:/opt");
        assert_string_equal(host_programs_find(&p, "ls"), "ls");
        assert_string_equal(host_programs_find(&p, "late"), "late");
        assert_string_equal(host_programs_find(&p, "/bin/busybox"), "busybox");
        assert_true(host_programs_same(&p, "ls", "busybox"));
        assert_null(host_programs_find(&p, "loop")); /* also if a later directory has it */
        assert_false(host_programs_lack(&p, "loop", &near));
        assert_true(host_programs_lack(&p, "tol", &near));
        assert_string_equal(near, "tool");
        assert_string_equal(host_programs_find(&p, "/srv/tool"), "tool");
        assert_string_equal(host_programs_find(&p, "/srv/other"), "tool");
        assert_null(host_programs_find(&p, "/srv/erase")); /* busybox could be any of its names */
        assert_null(host_programs_find(&p, "/bin/../bin/ls"));
        assert_null(host_programs_find(&p, "bin/ls"));
        host_programs_fini(&p);
        assert_int_equal(closed, 1);

        host_programs_init(&p, &arena, AT_FDCWD);
        host_programs_inside(&p, &tree, "/bin:/mounted");
        assert_null(host_programs_find(&p, "ls"));
        assert_false(host_programs_lack(&p, "nothing", &near));
        host_programs_fini(&p);
        arena_fini(&arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(in_another_root_what_is_not_known_ends_the_search),
                cmocka_unit_test(a_word_is_the_program_of_its_file),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
