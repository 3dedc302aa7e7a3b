/*
 * maker/below_test.c - what maker/below.h promises. The attacks are rows of
 * test/escape/below_test.py.
 */
#include "maker/below.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/unit.h"

static char base[64], keeping[96];
static struct kept_places places;
static struct below b;
static struct told told;
static struct wire_kept news[128];
static size_t news_count;

static void
hear(const struct wire_kept *n)
{
        assert_true(news_count < sizeof news / sizeof *news);
        news[news_count++] = *n;
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
        (void)st, (void)kind, (void)where;
        return remove(path);
}

/* As in survey_test.c: later changes get a later coarse timestamp than all changes so far. */
static void
pass_a_tick(struct timespec *ret)
{
        struct timespec was;

        (void)clock_gettime(CLOCK_REALTIME, &was);
        do
                (void)clock_gettime(CLOCK_REALTIME_COARSE, ret);
        while (ret->tv_sec < was.tv_sec ||
               (ret->tv_sec == was.tv_sec && ret->tv_nsec <= was.tv_nsec));
}

static int
bench_open(void **state)
{
        (void)state;
        news_count = 0;
        (void)snprintf(base, sizeof base, "/tmp/carrel-below-XXXXXX");
        if (!mkdtemp(base) || chdir(base) < 0 || mkdir("keep", 0700) < 0 ||
            mkdir("top", 0700) < 0 || mkdir("top/sub", 0700) < 0)
                return -1;
        (void)snprintf(keeping, sizeof keeping, "%s/keep/id", base);
        places = (struct kept_places){ .bases = { keeping }, .count = 1 };
        return 0;
}

static int
bench_close(void **state)
{
        (void)state;
        (void)close(b.source);
        return chdir("/") | nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
write_file(const char *name, const char *text)
{
        scoped_fd int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void
begin(const char *list, size_t len)
{
        told.count = 0;
        b = (struct below){ .places = &places,
                            .report = hear,
                            .told = &told,
                            .source = open("top", O_PATH | O_DIRECTORY | O_CLOEXEC),
                            .index = 3,
                            .path = "/top",
                            .list = list,
                            .list_len = len };
        below_begin(&b);
        pass_a_tick(&b.since);
}

static bool
meet(const char *path, const char *name)
{
        char whole[256];
        scoped_fd int dir = -1;

        (void)snprintf(whole, sizeof whole, "top/%s", path);
        dir = open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return below_meet(&b, dir, path, name);
}

static void
what_is_made_is_moved(void **state)
{
        char kept[128];

        (void)state;
        begin("k.git", 6);
        write_file("top/sub/.envrc", "x");
        write_file("top/sub/envrc", "x");
        assert_true(meet("sub", ".envrc"));
        assert_false(meet("sub", "envrc") || meet("sub", ".mcp.json"));
        (void)snprintf(kept, sizeof kept, "%s/3/sub%%.envrc", keeping);
        assert_int_equal(news_count, 1);
        assert_int_equal(news[0].what, KEPT_MOVED);
        assert_string_equal(news[0].name, "/top/sub/.envrc");
        assert_string_equal(news[0].kept, kept);
        assert_int_equal(access(kept, F_OK), 0);
        assert_false(b.must_kill);
}

static void
what_was_there_or_is_content_stays(void **state)
{
        static const char list[] = "k.git\0tsub/.vscode\0oopen";

        (void)state;
        assert_int_equal(mkdir("top/sub/.vscode", 0700) | mkdir("top/open", 0700) |
                                 mkdir("top/was", 0700),
                         0);
        write_file("top/was/.envrc", "x");
        write_file("top/was/.exrc", "x");
        begin(list, sizeof list);
        write_file("top/was/.envrc", "y"); /* the directory itself did not change */
        write_file("top/sub/.vscode/x", "y");
        write_file("top/open/.envrc", "x");
        write_file("top/sub/mise.TOML", "x"); /* another name, because case matters */
        assert_false(meet("was", ".envrc") || meet("was", ".exrc") || meet("sub", ".vscode") ||
                     meet("open", ".envrc") || meet("sub", "mise.TOML"));
        below_compare(&b);
        below_end(&b);
        assert_int_equal(news_count, 1);
        assert_int_equal(news[0].what, KEPT_CHANGED_BELOW);
        assert_string_equal(news[0].name, "/top/was/.envrc");
        assert_string_equal(news[0].kept, "sub/.vscode");
        assert_string_equal(news[0].key, "2");
}

static void
strict_kills_and_so_do_too_many(void **state)
{
        (void)state;
        begin("k.git\0s", 8);
        write_file("top/sub/.envrc", "x");
        assert_true(meet("sub", ".envrc"));
        assert_int_equal(news[0].what, KEPT_STRICT);
        assert_true(b.must_kill);
        (void)close(b.source);
        news_count = 0;
        begin("k.git", 6);
        for (unsigned i = 0; i < BELOW_MOVES_MAX + 2; i++) {
                char path[64];

                (void)snprintf(path, sizeof path, "top/d%u", i);
                assert_int_equal(mkdir(path, 0700), 0);
                (void)snprintf(path, sizeof path, "top/d%u/.envrc", i);
                write_file(path, "x");
                (void)snprintf(path, sizeof path, "d%u", i);
                assert_int_equal(meet(path, ".envrc"), i < BELOW_MOVES_MAX);
        }
        assert_int_equal(news_count, BELOW_MOVES_MAX + 1);
        assert_int_equal(news[BELOW_MOVES_MAX].what, KEPT_STUCK);
        assert_true(b.must_kill);
}

static void
another_inode_is_not_moved(void **state)
{
        char kept[KEPT_PATH_ROOM];
        struct stat judged;
        scoped_fd int dir = -1;

        (void)state;
        begin("", 0);
        write_file("top/sub/.envrc", "x");
        write_file("top/sub/other", "y");
        dir = open("top/sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(stat("top/sub/other", &judged), 0);
        assert_int_equal(
                kept_take(&places, b.source, 3, dir, ".envrc", "sub/.envrc", &judged, kept),
                -ENOENT);
        assert_int_equal(access("top/sub/.envrc", F_OK), 0);
        assert_int_equal(access(keeping, F_OK), -1);
}

static void
what_is_later_is_the_hosts(void **state)
{
        (void)state;
        begin("k.git", 6);
        pass_a_tick(&b.rested);
        pass_a_tick(&(struct timespec){ 0, 0 });
        write_file("top/sub/.envrc", "x");
        assert_false(meet("sub", ".envrc"));
}

static void
what_is_of_a_pause_is_the_hosts(void **state)
{
        struct below_pause pause;

        (void)state;
        assert_int_equal(mkdir("top/mixed", 0700) | mkdir("top/mixed/.vscode", 0700), 0);
        begin("k.git", 6);
        b.pauses = &pause;
        b.pause_count = 1;
        write_file("top/.envrc", "before");
        pass_a_tick(&pause.from);
        pass_a_tick(&(struct timespec){ 0, 0 });
        write_file("top/sub/.envrc", "host's");
        write_file("top/mixed/.vscode/host", "x");
        pass_a_tick(&pause.until);
        assert_false(meet("sub", ".envrc") || meet("mixed", ".vscode"));
        below_end(&b);
        assert_int_equal(news_count, 0);
        write_file("top/mixed/.vscode/own", "x");
        assert_false(meet("mixed", ".vscode"));
        below_end(&b); /* a command changed it afterwards */
        assert_int_equal(news_count, 1);
        assert_int_equal(news[0].what, KEPT_CHANGED_BELOW);
        write_file("top/sub/.envrc", "the command's");
        assert_true(meet("sub", ".envrc"));
        assert_true(meet("", ".envrc")); /* from before the pause */
}

static void
what_is_of_the_first_tick_is_reported_alone(void **state)
{
        (void)state;
        begin("k.git\0hsub/SANDBOX.md", 20);
        write_file("top/sub/.envrc", "x");
        write_file("top/sub/SANDBOX.md", "x");
        (void)clock_gettime(CLOCK_REALTIME, &b.begun);
        assert_false(meet("sub", ".envrc") || meet("sub", "SANDBOX.md"));
        below_end(&b);
        assert_int_equal(news_count, 1);
        assert_int_equal(news[0].what, KEPT_CHANGED_BELOW);
        assert_string_equal(news[0].name, "/top/sub/.envrc");
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_is_made_is_moved, bench_open, bench_close),
                cmocka_unit_test_setup_teardown(what_was_there_or_is_content_stays, bench_open,
                                                bench_close),
                cmocka_unit_test_setup_teardown(strict_kills_and_so_do_too_many, bench_open,
                                                bench_close),
                cmocka_unit_test_setup_teardown(another_inode_is_not_moved, bench_open,
                                                bench_close),
                cmocka_unit_test_setup_teardown(what_is_of_the_first_tick_is_reported_alone,
                                                bench_open, bench_close),
                cmocka_unit_test_setup_teardown(what_is_of_a_pause_is_the_hosts, bench_open,
                                                bench_close),
                cmocka_unit_test_setup_teardown(what_is_later_is_the_hosts, bench_open,
                                                bench_close),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
