/* secret/sources_test.c - what secret/sources.h promises. */
#include "secret/sources.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/unit.h"

static char dir[64];

static const char *
in_dir(const char *name)
{
        static char path[64][160]; /* of one test */
        static unsigned turn;

        turn = (turn + 1) % 64;
        (void)snprintf(path[turn], sizeof path[0], "%s/%s", dir, name);
        return path[turn];
}

static void
put(const char *name, const char *bytes, size_t len, mode_t mode)
{
        int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, bytes, len), (ssize_t)len);
        assert_int_equal(fchmod(fd, mode), 0);
        (void)close(fd);
}

static int
set_up(void **state)
{
        (void)state;
        (void)snprintf(dir, sizeof dir, "/tmp/carrel-sources-test-XXXXXX");
        assert_non_null(mkdtemp(dir));
        return 0;
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
        (void)st;
        (void)kind;
        (void)at;
        return remove(path);
}

static int
tear_down(void **state)
{
        (void)state;
        return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Gives the value, or NULL and the error. */
static const char *
fetch_one(const struct secret_sources *s, const char *slug, struct error *e)
{
        static struct secret_values *values;
        const char *const slugs[] = { slug };
        size_t failed;

        secret_values_free(values);
        values = secret_values_new();
        assert_non_null(values);
        e->code = ERROR_NONE;
        if (secret_sources_fetch(s, slugs, 1, values, &failed, e) < 0) {
                assert_int_equal(failed, 0);
                assert_string_equal(e->reason, "not_found");
                assert_null(strstr(e->message, "CANARY"));
                assert_null(strstr(e->hint, "CANARY"));
                return NULL;
        }
        return secret_value_look(values, slug);
}

static void
refused(const struct host_source *source, const char *slug, const char *word)
{
        const struct secret_sources s = { .listed = { source, 1 } };
        struct error e;

        if (fetch_one(&s, slug, &e))
                fail_msg("%s was fetched, and should not: %s", slug, word);
        assert_int_equal(e.code, ERROR_AUTH_UNRESOLVABLE);
        if (!strstr(e.message, word) || !strstr(e.message, slug))
                fail_msg("\"%s\" does not say %s and %s", e.message, slug, word);
}

static void
a_directory_holds_one_file_for_each(void **state)
{
        const struct host_source source = { .kind = HOST_SOURCE_DIRECTORY, .path = dir };
        const struct secret_sources s = { .listed = { &source, 1 } };
        struct error e;

        (void)state;
        put("api-key", "one\n", 4, 0600);
        put("acme.token", "two", 3, 0400);
        assert_string_equal(fetch_one(&s, "api-key", &e), "one");
        assert_string_equal(fetch_one(&s, "acme/token", &e), "two");
        put("api-key", "rotated", 7, 0600);
        assert_string_equal(fetch_one(&s, "api-key", &e), "rotated");
        put("others", "CANARY", 6, 0640);
        refused(&source, "others", "others");
        put("empty", "\n", 1, 0600);
        refused(&source, "empty", "empty");
        put("lines", "CANARY\nCANARY\n", 14, 0600);
        refused(&source, "lines", "line feed");
        put("cr", "CANARY\r\n", 8, 0600);
        refused(&source, "cr", "carriage return");
        put("nul", "CANARY\0x", 8, 0600);
        refused(&source, "nul", "NUL");
        assert_int_equal(mkfifo(in_dir("fifo"), 0600), 0);
        refused(&source, "fifo", "regular");
        refused(&source, "absent", "directory");
        refused(&source, "../etc/passwd", "no value");
}

static void
no_link_leads_out_of_a_directory(void **state)
{
        const struct host_source source = { .kind = HOST_SOURCE_DIRECTORY,
                                            .path = in_dir("inner") };
        const struct secret_sources s = { .listed = { &source, 1 } };
        struct error e;

        (void)state;
        assert_int_equal(mkdir(in_dir("inner"), 0700), 0);
        put("outside", "CANARY", 6, 0600);
        put("inner/real", "inside", 6, 0600);
        assert_int_equal(symlink("../outside", in_dir("inner/out")), 0);
        assert_int_equal(symlink(in_dir("outside"), in_dir("inner/absolute")), 0);
        assert_int_equal(symlink("real", in_dir("inner/alias")), 0);
        refused(&source, "out", "link");
        refused(&source, "absolute", "link");
        assert_string_equal(fetch_one(&s, "alias", &e), "inside");
        assert_int_equal(chmod(in_dir("inner"), 0777), 0);
        refused(&source, "real", "others can write");
}

static void
a_file_holds_lines(void **state)
{
        const struct host_source source = { .kind = HOST_SOURCE_FILE, .path = in_dir("secrets") };
        const struct secret_sources s = { .listed = { &source, 1 } };
        struct error e;

        (void)state;
        refused(&source, "ab", "cannot be opened");
        put("secrets", "ab=one\n", 7, 0600);
        assert_string_equal(fetch_one(&s, "ab", &e), "one");
        refused(&source, "cd", "file");
        put("secrets", "ab=CANARY\n", 10, 0644);
        refused(&source, "ab", "read or written by others");
        assert_int_equal(unlink(in_dir("secrets")), 0);
        put("real", "ab=CANARY\n", 10, 0644);
        assert_int_equal(symlink("real", in_dir("secrets")), 0);
        refused(&source, "ab", "read or written by others");
}

static struct host_source
shell(const char *script, uint64_t timeout_ms)
{
        static const char *words[64][5];
        static unsigned turn;
        const char **argv = words[turn++ % 64];

        memcpy(argv, (const char *const[]){ "/bin/sh", "-c", script, "name", "{slug}" },
               sizeof words[0]);
        return (struct host_source){ .kind = HOST_SOURCE_COMMAND,
                                     .argv = { argv, 5 },
                                     .timeout_ms = timeout_ms };
}

static void
a_command_prints_the_value(void **state)
{
        const struct host_source source = shell("printf '%s\\n' \"for-$1\"", 5000),
                                 quiet = shell("echo CANARY >&2; echo value", 5000);
        const struct secret_sources s = { .listed = { &source, 1 } },
                                    q = { .listed = { &quiet, 1 } };
        struct error e;

        (void)state;
        assert_string_equal(fetch_one(&s, "acme/token", &e), "for-acme/token");
        assert_string_equal(fetch_one(&q, "ab", &e), "value");
}

static void
a_command_that_does_not_is_refused(void **state)
{
        static const struct {
                const char *script;
                uint64_t timeout_ms;
                const char *word;
        } rows[] = {
                { "echo CANARY >&2; exit 3", 5000, "status 3" },
                { "echo CANARY; kill -9 $$", 5000, "signal 9" },
                { "sleep 60", 200, "200 ms" },
                { "echo CANARY; exec 1>&-; sleep 60", 200, "200 ms" },
                { "while :; do echo CANARY; done", 5000, "64 KiB" },
                { ":", 5000, "empty" },
                { "echo CANARY; echo CANARY", 5000, "line feed" },
                { "sleep 60 & echo CANARY", 200, "200 ms" },
                { "exit 127", 5000, "executed" },
        };
        static const char *const absent[] = { "/nonexistent/program" };
        const struct host_source none = { .kind = HOST_SOURCE_COMMAND,
                                          .argv = { absent, 1 },
                                          .timeout_ms = 1000 };
        time_t begin = time(NULL);

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct host_source source = shell(rows[i].script, rows[i].timeout_ms);

                refused(&source, "ab", rows[i].word);
        }
        refused(&none, "ab", "executed");
        assert_true(time(NULL) - begin < 30);
}

/* The command inherits no open descriptor of Carrel, and only a few environment variables. */
static void
a_command_is_given_nothing(void **state)
{
        const struct host_source fds =
                shell("for n in 3 4 5 6 7 8 9; do if eval \"true <&$n\" 2>/dev/null; then echo "
                      "open $n; exit; fi; done; echo none",
                      5000);
        const struct host_source env =
                shell("if env | grep -q CARREL_HIDDEN; then echo there; else echo gone; fi", 5000);
        const struct secret_sources f = { .listed = { &fds, 1 } }, v = { .listed = { &env, 1 } };
        int fd = dup2(2, 7);
        struct error e;

        (void)state;
        assert_int_equal(fd, 7);
        assert_int_equal(setenv("CARREL_HIDDEN", "1", 1), 0);
        assert_string_equal(fetch_one(&f, "ab", &e), "none");
        assert_string_equal(fetch_one(&v, "ab", &e), "gone");
        (void)close(7);
        (void)unsetenv("CARREL_HIDDEN");
}

static void
variables_are_taken_out_of_the_environment(void **state)
{
        static const struct host_binding rows[] = { { "API_KEY", "api-key" },
                                                    { "ABSENT", "absent" },
                                                    { "EMPTY", "empty" } };
        const struct host_source source = { .kind = HOST_SOURCE_ENVIRONMENT,
                                            .variables = rows,
                                            .variable_count = 3 };
        char home[] = "HOME=/x", key[] = "API_KEY=s3cret", longer[] = "API_KEYS=stays",
             empty[] = "EMPTY=";
        char *environment[] = { home, key, longer, empty, NULL };
        struct secret_values *variables = NULL;
        struct secret_sources s = { .listed = { &source, 1 } };
        struct error e;

        (void)state;
        assert_int_equal(secret_variables_take(&s.listed, environment, &variables, &e), 0);
        assert_string_equal(environment[0], "HOME=/x");
        assert_string_equal(environment[1], "API_KEYS=stays");
        assert_null(environment[2]);
        for (size_t i = 0; i < sizeof key - 6; i++)
                assert_int_not_equal(memcmp(key + i, "s3cret", 6), 0);
        s.variables = variables;
        assert_string_equal(fetch_one(&s, "api-key", &e), "s3cret");
        refused(&source, "absent", "environment");
        refused(&source, "empty", "environment");
        secret_values_free(variables);
}

static void
the_first_that_knows_it_answers(void **state)
{
        static const char *const only[] = { "cd" };
        struct host_source sources[] = { { .kind = HOST_SOURCE_DIRECTORY, .path = dir },
                                         { .kind = HOST_SOURCE_FILE, .path = in_dir("lines") },
                                         shell("echo asked", 5000) };
        const struct secret_sources s = { .listed = { sources, 3 }, .file = in_dir("last") };
        struct error e;

        (void)state;
        sources[2].slugs = (struct spec_names){ only, 1 };
        put("lines", "ab=from the file\nef=of the file\n", 32, 0600);
        put("last", "gh=last\n", 8, 0600);
        put("ab", "from the directory", 18, 0600);
        assert_string_equal(fetch_one(&s, "ab", &e), "from the directory");
        assert_string_equal(fetch_one(&s, "ef", &e), "of the file");
        assert_string_equal(fetch_one(&s, "cd", &e), "asked");
        assert_string_equal(fetch_one(&s, "gh", &e), "last");
        assert_null(fetch_one(&s, "nowhere", &e));
        assert_non_null(strstr(e.message, dir));
        assert_null(strstr(e.message, "/bin/sh"));
        put("ef", "CANARY", 6, 0666); /* a faulty source is not skipped */
        assert_null(fetch_one(&s, "ef", &e));
}

static void
says_that_there_is_no_source(void **state)
{
        const struct secret_sources s = { .file = NULL };
        struct error e;

        (void)state;
        assert_null(fetch_one(&s, "ab", &e));
        assert_non_null(strstr(e.message, "no source of secrets is configured"));
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(a_directory_holds_one_file_for_each, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(no_link_leads_out_of_a_directory, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_file_holds_lines, set_up, tear_down),
                cmocka_unit_test(a_command_prints_the_value),
                cmocka_unit_test(a_command_that_does_not_is_refused),
                cmocka_unit_test(a_command_is_given_nothing),
                cmocka_unit_test(variables_are_taken_out_of_the_environment),
                cmocka_unit_test_setup_teardown(the_first_that_knows_it_answers, set_up, tear_down),
                cmocka_unit_test(says_that_there_is_no_source),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
