/*
 * maker/survey_test.c - what maker/survey.h promises. The attacks are rows of
 * test/escape/nested_test.py.
 */
#include "maker/survey.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/unit.h"

static char base[64];
static _Alignas(8) unsigned char packed[8192];
static struct plan_view view;
static struct survey s;
static struct wire_kept news[64];
static size_t news_count;

static void
hear(const struct wire_kept *n)
{
        news[news_count++] = *n;
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
        (void)st, (void)kind, (void)where;
        return remove(path);
}

static int
bench_open(void **state)
{
        (void)state;
        news_count = 0;
        (void)snprintf(base, sizeof base, "/tmp/carrel-survey-XXXXXX");
        return mkdtemp(base) && chdir(base) == 0 ? 0 : -1;
}

static int
bench_close(void **state)
{
        (void)state;
        s.report = NULL;
        survey_end(&s);
        return chdir("/") | nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
write_file(const char *name, const char *text)
{
        scoped_fd int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void
make_repository(const char *git, const char *config)
{
        char path[256];

        assert_int_equal(mkdir(git, 0700), 0);
        (void)snprintf(path, sizeof path, "%s/objects", git);
        assert_int_equal(mkdir(path, 0700), 0);
        (void)snprintf(path, sizeof path, "%s/refs", git);
        assert_int_equal(mkdir(path, 0700), 0);
        (void)snprintf(path, sizeof path, "%s/HEAD", git);
        write_file(path, "ref: refs/heads/main\n");
        (void)snprintf(path, sizeof path, "%s/config", git);
        write_file(path, config);
}

/*
 * Timestamps of inodes are coarse, but those that were read before are exact. This waits until
 * later changes get a later coarse timestamp.
 */
static void
pass_a_tick(void)
{
        struct timespec was, now;

        (void)clock_gettime(CLOCK_REALTIME, &was);
        do
                (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
        while (now.tv_sec < was.tv_sec || (now.tv_sec == was.tv_sec && now.tv_nsec <= was.tv_nsec));
}

static void
begin(const char *list, size_t len, bool is_living)
{
        struct step steps[2] = {
                { .op = STEP_SURVEY,
                  .source = 0,
                  .path = base,
                  .text = list,
                  .text_len = len,
                  .why = "" },
                { .op = STEP_SPAWN, .source = STEP_NO_SOURCE, .path = "", .text = "", .why = "" },
        };
        size_t plan_len = plan_pack_len(steps, 2);
        scoped_fd int source = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);

        plan_pack(steps, 2, 1, packed);
        assert_int_equal(plan_unpack(packed, plan_len, &view), 0);
        pass_a_tick();
        survey_begin(&s, &view, &source, is_living);
        s.report = hear;
}

static void
assert_told(size_t at, unsigned what, const char *name, const char *runs)
{
        char path[256];

        assert_true(at < news_count);
        (void)snprintf(path, sizeof path, "%s/%s", base, name);
        assert_int_equal(news[at].what, what);
        assert_string_equal(news[at].name, path);
        assert_string_equal(news[at].kept, runs);
}

static void
what_existed_is_not_reported(void **state)
{
        (void)state;
        assert_int_equal(mkdir("old", 0700), 0);
        make_repository("old/.git", "[core]\nfsmonitor = x\n");
        begin("", 0, false);
        write_file("old/.git/HEAD", "ref: refs/heads/next\n");
        survey_look(&s, false);
        assert_int_equal(news_count, 0);
}

static void
what_is_new_or_changed_is(void **state)
{
        (void)state;
        assert_int_equal(mkdir("old", 0700) | mkdir("known", 0700) | mkdir("open", 0700), 0);
        make_repository("old/.git", "");
        make_repository("known/.git", "");
        make_repository("open/.git", "");
        begin("kknown/.git\0oopen", 17, false);
        write_file("old/.git/config", "[core]\nfsmonitor = x\n[alias]\na = b\n");
        write_file("known/.git/config", "[core]\nfsmonitor = x\n");
        write_file("open/.git/config", "[core]\nfsmonitor = x\n");
        make_repository("bare", "[user]\nname = x\n");
        pass_a_tick();
        survey_look(&s, false);
        assert_int_equal(news_count, 2);
        assert_told(0, news[0].what == KEPT_BARE ? KEPT_BARE : KEPT_REPOSITORY,
                    news[0].what == KEPT_BARE ? "bare" : "old/.git",
                    news[0].what == KEPT_BARE ? "" : "core.fsmonitor\nalias.a");
        assert_int_equal(news[0].what + news[1].what, KEPT_BARE + KEPT_REPOSITORY);
        survey_look(&s, false); /* reported once */
        assert_int_equal(news_count, 2);
}

static void
only_the_time_of_commands_counts(void **state)
{
        struct timespec now;

        (void)state;
        begin("", 0, true);
        assert_int_equal(mkdir("hosts", 0700), 0);
        make_repository("hosts/.git", "[core]\nfsmonitor = x\n");
        pass_a_tick();
        (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
        survey_mark(&s, &now);
        assert_int_equal(mkdir("own", 0700), 0);
        make_repository("own/.git", "[core]\nfsmonitor = x\n");
        survey_rest(&s);
        assert_true(s.due_ms != UINT64_MAX);
        survey_look(&s, true);
        assert_int_equal(news_count, 1);
        /* the next search finds what was hidden from this one */
        assert_true(s.is_open && s.since.tv_sec == now.tv_sec && s.since.tv_nsec == now.tv_nsec);
        survey_look(&s, true); /* and reports nothing again */
        assert_int_equal(news_count, 1);
        pass_a_tick();
        write_file("own/.git/config", "[core]\nfsmonitor = y\n");
        news_count = 0;
        survey_look(&s, false); /* but what was put right, and came back */
        assert_int_equal(news_count, 1);
        assert_told(0, KEPT_REPOSITORY, "own/.git", "core.fsmonitor");
        assert_true(s.due_ms == UINT64_MAX && !s.is_open);
        assert_int_equal(mkdir("later", 0700), 0);
        make_repository("later/.git", "");
        survey_end(&s);
        assert_int_equal(news_count, 1);
}

static struct timespec
tick(void)
{
        struct timespec now;

        pass_a_tick();
        (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
        return now;
}

static void
pauses_between_commands_are_the_hosts(void **state)
{
        struct timespec now;

        (void)state;
        assert_int_equal(mkdir("sub", 0700) | mkdir("own", 0700), 0);
        begin("k.git", 6, true);
        now = tick();
        survey_mark(&s, &now);
        for (unsigned i = 0; i < 3; i++) {
                survey_rest(&s);
                pass_a_tick();
                if (i == 1)
                        write_file("sub/.envrc", "host's");
                now = tick();
                survey_mark(&s, &now);
                if (i == 1) { /* a search that meets a command keeps what was known */
                        survey_look(&s, true);
                        assert_int_equal(s.pause_count, 2);
                }
        }
        assert_int_equal(s.pause_count, 3);
        write_file("own/.envrc", "the command's");
        survey_look(&s, false);
        assert_int_equal(s.pause_count, 0);
        assert_int_equal(news_count, 1);
        assert_true(strstr(news[0].name, "/own/.envrc") != NULL);
}

static void
a_clock_that_is_set_back_ends_pauses(void **state)
{
        struct timespec now, back;

        (void)state;
        begin("", 0, true);
        now = tick();
        survey_mark(&s, &now);
        survey_rest(&s);
        now = back = tick();
        survey_mark(&s, &now);
        assert_int_equal(s.pause_count, 1);
        survey_mark(&s, &now); /* in the same tick */
        assert_int_equal(s.pause_count, 1);
        back.tv_sec--;
        survey_mark(&s, &back);
        assert_int_equal(s.pause_count, 0);
        survey_rest(&s);
        survey_mark(&s, &back);
        assert_int_equal(s.pause_count, 0);
}

static void
no_link_is_followed(void **state)
{
        (void)state;
        assert_int_equal(mkdir("far", 0700) | mkdir("far/lib", 0700) | mkdir("near", 0700), 0);
        begin("ofar", 4, false);
        make_repository("far/lib/.git", "[core]\nfsmonitor = x\n");
        assert_int_equal(symlink("../far/lib", "near/lib") | symlink("far", "link"), 0);
        survey_look(&s, false);
        assert_int_equal(news_count, 0);
        assert_int_equal(symlink("../far/lib/.git", "near/.git"), 0);
        survey_look(&s, false);
        assert_int_equal(news_count, 1); /* git follows this link */
        assert_told(0, KEPT_GITFILE, "near/.git", "core.fsmonitor");
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(what_existed_is_not_reported, bench_open,
                                                bench_close),
                cmocka_unit_test_setup_teardown(what_is_new_or_changed_is, bench_open, bench_close),
                cmocka_unit_test_setup_teardown(only_the_time_of_commands_counts, bench_open,
                                                bench_close),
                cmocka_unit_test_setup_teardown(pauses_between_commands_are_the_hosts, bench_open,
                                                bench_close),
                cmocka_unit_test_setup_teardown(a_clock_that_is_set_back_ends_pauses, bench_open,
                                                bench_close),
                cmocka_unit_test_setup_teardown(no_link_is_followed, bench_open, bench_close),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
