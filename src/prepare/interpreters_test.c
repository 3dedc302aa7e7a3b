/* prepare/interpreters_test.c - what prepare/interpreters.h promises. */
#include "base/unit.h"
#include "prepare/interpreters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
knows_programs_by_their_names(void **state)
{
        static const struct {
                const char *file, *family;
        } cases[] = {
                { "python3", "python" },
                { "python3.11", "python" },
                { "python", "python" },
                { "pypy3", "pypy" },
                { "node", "node" },
                { "nodejs", "node" },
                { "bash", "bash" },
                { "perl5.36.0", "perl" },
                { "python3-config", NULL },
                { "python3.11-config", NULL },
                { "nodemon", NULL },
                { "perl5.36-x86_64-linux-gnu", NULL },
                { "bashbug", NULL },
                { "3", NULL },
                { ".", NULL },
                { "", NULL },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const struct runtime_family *family = interpreters_family(cases[i].file);

                if (!cases[i].family)
                        assert_null(family);
                else
                        assert_string_equal(family->name, cases[i].family);
        }
}

static void
reads_versions_out_of_words(void **state)
{
        static const struct {
                const char *words, *version;
        } cases[] = {
                { "Python 3.13.1\n", "3.13.1" },
                { "v24.0.0", "24.0.0" },
                { "GNU bash, version 5.2.15(1)-release", "5.2.15" },
                { "This is perl 5, version 36", "5" },
                { "ruby 3.1.2p20", "3.1.2" },
                { "no numbers", "" },
                { "", "" },
                { "openjdk 17.", "17" },
                { "111111111111111111111111111111111111111111", "" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                char version[32];

                interpreters_version(cases[i].words, version, sizeof version);
                assert_string_equal(version, cases[i].version);
        }
}

/* The build needs Python, so this machine has it. What is reported about it must be right. */
static void
finds_those_of_this_machine(void **state)
{
        static const char *const roots[] = { "/opt", "/usr/local" };
        struct host_rules rules = { .tool_roots = { roots, 2 } };
        const struct runtime *python;
        struct runtimes all;
        struct arena arena;
        struct error e;

        (void)state;
        arena_init(&arena, 16 << 20);
        assert_int_equal(interpreters_look(&arena, &rules, NULL, &all, &e), 0);
        for (size_t i = 0; i < all.count; i++) {
                assert_true(all.items[i].path[0] == '/');
                assert_true(strchr("0123456789", all.items[i].version[0]) != NULL);
                if (i > 0 && strcmp(all.items[i].family, all.items[i - 1].family) == 0)
                        assert_true(runtime_version_compare(all.items[i - 1].version,
                                                            all.items[i].version) >= 0);
        }
        assert_int_equal(runtime_find(&all, "python3", &python, &e), 0);
        assert_non_null(strstr(python->path, "python"));
        arena_fini(&arena);
}

/* An operator's own directory of interpreters is searched if the host file names it. */
static void
looks_into_tool_roots(void **state)
{
        char root[] = "/var/tmp/interpreters-XXXXXX", folder[64], bin[80], program[96];
        const char *roots[] = { root };
        struct host_rules with = { .tool_roots = { roots, 1 } },
                          without = { .tool_roots = { roots, 0 } };
        const struct runtime *lua;
        struct runtimes all;
        struct arena arena;
        struct error e;
        FILE *f;

        (void)state;
        assert_non_null(mkdtemp(root));
        (void)snprintf(folder, sizeof folder, "%s/mine", root);
        (void)snprintf(bin, sizeof bin, "%s/bin", folder);
        (void)snprintf(program, sizeof program, "%s/lua99.7", bin);
        /* independent of the caller's umask: the payload must be able to reach it */
        (void)umask(022);
        assert_true(chmod(root, 0755) == 0 && mkdir(folder, 0755) == 0 && mkdir(bin, 0755) == 0);
        f = fopen(program, "w");
        assert_non_null(f);
        assert_true(fputs("#!/bin/sh\necho Lua 99.7.1\n", f) > 0);
        assert_int_equal(fclose(f), 0);
        assert_int_equal(chmod(program, 0755), 0);
        arena_init(&arena, 16 << 20);
        assert_int_equal(interpreters_look(&arena, &without, NULL, &all, &e), 0);
        assert_int_equal(runtime_find(&all, "lua99.7", &lua, &e), -1);
        assert_int_equal(interpreters_look(&arena, &with, NULL, &all, &e), 0);
        assert_int_equal(runtime_find(&all, "lua99.7", &lua, &e), 0);
        assert_string_equal(lua->prefix, folder);
        assert_string_equal(lua->version, "99.7.1");
        arena_fini(&arena);
        assert_true(unlink(program) == 0 && rmdir(bin) == 0 && rmdir(folder) == 0 &&
                    rmdir(root) == 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(knows_programs_by_their_names),
                cmocka_unit_test(reads_versions_out_of_words),
                cmocka_unit_test(finds_those_of_this_machine),
                cmocka_unit_test(looks_into_tool_roots),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
