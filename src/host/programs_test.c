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

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_word_is_the_program_of_its_file),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
