/* maker/guard_test.c - what maker/guard.h and maker/kept.h promise. */
#include "maker/guard.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/unit.h"

static char base[64], work[80], kept[80];
static _Alignas(8) unsigned char packed[8192];
static struct plan_view view;
static struct guard g;
static struct wire_kept news[256];
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
        (void)snprintf(base, sizeof base, "/tmp/carrel-guard-XXXXXX");
        if (!mkdtemp(base))
                return -1;
        (void)snprintf(work, sizeof work, "%s/work", base);
        (void)snprintf(kept, sizeof kept, "%s/state/kept", base);
        return mkdir(work, 0700);
}

static int
bench_close(void **state)
{
        (void)state;
        g.report = NULL;
        guard_end(&g);
        return nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *
at(const char *name)
{
        static char paths[4][256];
        static unsigned turn;
        char *path = paths[turn++ % 4];

        (void)snprintf(path, sizeof paths[0], "%s/%s", base, name);
        return path;
}

static bool
is_there(const char *name)
{
        struct stat st;

        return lstat(at(name), &st) == 0;
}

static void
make_file(const char *name)
{
        scoped_fd int fd = open(at(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

        assert_int_equal(write(fd, "x", 1), 1);
}

static void
begin(const char *list, size_t len)
{
        struct step steps[3] = {
                { .op = STEP_KEEPING,
                  .source = STEP_NO_SOURCE,
                  .path = kept,
                  .text = "",
                  .why = "" },
                { .op = STEP_GUARD,
                  .source = 0,
                  .path = work,
                  .text = list,
                  .text_len = len,
                  .why = "" },
                { .op = STEP_SPAWN, .source = STEP_NO_SOURCE, .path = "", .text = "", .why = "" },
        };
        size_t plan_len = plan_pack_len(steps, 3);
        scoped_fd int source = open(work, O_PATH | O_DIRECTORY | O_CLOEXEC);

        plan_pack(steps, 3, 1, packed);
        assert_int_equal(plan_unpack(packed, plan_len, &view), 0);
        guard_begin(&g, &view, &source, true);
        g.report = hear;
        g.is_busy = true;
}

#define BEGIN(list) begin(list, sizeof(list) - 1)

static void
a_created_name_is_moved_and_reported(void **state)
{
        (void)state;
        BEGIN("m.envrc\0m.vscode\0m.config/fish\0t.git");
        assert_int_equal(g.count, 4);
        guard_sweep(&g);
        assert_int_equal(news_count, 0);
        assert_false(is_there("state")); /* created when it is needed */
        make_file("work/.envrc");
        assert_int_equal(mkdir(at("work/.vscode"), 0700) | mkdir(at("work/.config"), 0700) |
                                 mkdir(at("work/.config/fish"), 0500) |
                                 mkdir(at("work/.git"), 0700),
                         0);
        make_file("work/.vscode/tasks.json");
        assert_int_equal(chmod(at("work/.vscode"), 0500), 0);
        guard_sweep(&g);
        assert_false(is_there("work/.envrc") || is_there("work/.vscode") ||
                     is_there("work/.config/fish"));
        assert_true(is_there("work/.git") && is_there("work/.config"));
        assert_true(is_there("state/kept/0/.envrc") &&
                    is_there("state/kept/0/.vscode/tasks.json") &&
                    is_there("state/kept/0/.config%fish"));
        assert_int_equal(news_count, 4);
        assert_int_equal(news[3].what, KEPT_MADE);
        assert_int_equal(news[0].what, KEPT_MOVED);
        assert_string_equal(news[0].name, at("work/.envrc"));
        assert_string_equal(news[0].kept, at("state/kept/0/.envrc"));
        make_file("work/.envrc");
        guard_end(&g);
        assert_true(is_there("state/kept/0/.envrc.1"));
        assert_int_equal(news_count, 5);
        assert_false(g.must_kill);
}

static void
what_is_there_by_now_is_left(void **state)
{
        (void)state;
        make_file("work/.envrc");
        BEGIN("m.envrc");
        guard_end(&g);
        assert_true(is_there("work/.envrc"));
        assert_int_equal(news_count, 0);
}

/*
 * A link itself is moved. A link that is part of a path counts as the name itself. No link is
 * followed.
 */
static void
links_are_moved_and_never_followed(void **state)
{
        (void)state;
        assert_int_equal(mkdir(at("outside"), 0700), 0);
        make_file("outside/fish");
        BEGIN("m.envrc\0m.config/fish");
        assert_int_equal(symlink("../outside/fish", at("work/.envrc")) |
                                 symlink("../outside", at("work/.config")),
                         0);
        guard_sweep(&g);
        assert_false(is_there("work/.envrc") || is_there("work/.config"));
        assert_true(is_there("outside/fish") && is_there("state/kept/0/.envrc"));
        assert_int_equal(news_count, 2);
}

static void
a_change_of_content_is_reported(void **state)
{
        (void)state;
        assert_int_equal(mkdir(at("work/.vscode"), 0700), 0);
        make_file("work/.vscode/a");
        make_file("work/.envrc");
        make_file("work/.bashrc");
        BEGIN("c.vscode\0c.envrc\0c.bashrc");
        guard_sweep(&g);
        make_file("work/.vscode/b");
        assert_int_equal(unlink(at("work/.envrc")), 0);
        guard_end(&g);
        assert_int_equal(news_count, 2);
        assert_true(news[0].what == KEPT_CHANGED && news[1].what == KEPT_CHANGED);
        assert_string_equal(news[0].name, at("work/.vscode"));
        assert_true(is_there("work/.vscode/b"));
}

/*
 * Between file systems, the guard copies and then removes, including unreadable directories and
 * links.
 */
static void
another_file_system_gets_a_copy(void **state)
{
        char other[] = "/dev/shm/carrel-guard-XXXXXX";
        char own[sizeof kept];
        struct stat st, here;

        (void)state;
        if (!mkdtemp(other) || stat(other, &st) < 0 || stat(work, &here) < 0 ||
            st.st_dev == here.st_dev) {
                (void)rmdir(other);
                skip();
        }
        memcpy(own, kept, sizeof own);
        (void)snprintf(kept, sizeof kept, "%s/kept", other);
        BEGIN("m.envrc\0m.vscode\0m.profile");
        make_file("work/.envrc");
        assert_int_equal(mkdir(at("work/.vscode"), 0700) | symlink("/nowhere", at("work/.profile")),
                         0);
        make_file("work/.vscode/tasks.json");
        assert_int_equal(chmod(at("work/.vscode"), 0), 0);
        guard_end(&g);
        assert_false(is_there("work/.envrc") || is_there("work/.vscode") ||
                     is_there("work/.profile") || g.must_kill);
        assert_int_equal(news_count, 3);
        for (size_t i = 0; i < news_count; i++)
                assert_int_equal(lstat(news[i].kept, &st), 0);
        assert_int_equal(nftw(other, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
        memcpy(kept, own, sizeof own);
}

static void
strict_and_endless_end_the_box(void **state)
{
        (void)state;
        BEGIN("s.envrc");
        make_file("work/.envrc");
        guard_sweep(&g);
        assert_true(g.must_kill && news[0].what == KEPT_STRICT && is_there("state/kept/0/.envrc"));
        guard_end(&g);
        BEGIN("m.bashrc");
        for (int i = 0; i <= GUARD_MOVES_MAX; i++) {
                assert_false(g.must_kill);
                make_file("work/.bashrc");
                guard_sweep(&g);
        }
        assert_true(g.must_kill);
        assert_int_equal(news[news_count - 1].what, KEPT_STUCK);
}

static void
what_appears_in_peace_is_the_hosts(void **state)
{
        (void)state;
        BEGIN("m.envrc\0m.config/fish\0s.vscode\0t.git");
        g.is_busy = false;
        make_file("work/.envrc");
        assert_int_equal(mkdir(at("work/.vscode"), 0700) | mkdir(at("work/.config"), 0700) |
                                 mkdir(at("work/.git"), 0700),
                         0);
        guard_sweep(&g);
        assert_int_equal(mkdir(at("work/.config/fish"), 0700), 0);
        guard_sweep(&g);
        g.is_busy = true;
        guard_sweep(&g);
        assert_true(is_there("work/.envrc") && is_there("work/.vscode") &&
                    is_there("work/.config/fish") && news_count == 0 && !g.must_kill);
        make_file("work/.vscode/tasks.json");
        make_file("work/.git/index");
        guard_rest(&g);
        assert_true(news_count == 1 && news[0].what == KEPT_CHANGED &&
                    strstr(news[0].name, "/.vscode"));
        make_file("work/.git/config");
        guard_rest(&g);
        assert_true(news_count == 2 && news[1].what == KEPT_CHANGED &&
                    strstr(news[1].name, "/.git"));
        g.is_busy = true;
        assert_int_equal(unlink(at("work/.envrc")), 0);
        guard_sweep(&g);
        make_file("work/.envrc"); /* the payload's file, because the host's file is gone */
        guard_sweep(&g);
        assert_true(!is_there("work/.envrc") && news_count == 3 && news[2].what == KEPT_MOVED);
}

/*
 * A directory created by a command is watched when the command has ended. The host's first change
 * in it is an event.
 */
static void
a_directory_on_the_way_is_watched_after_a_command(void **state)
{
        char events[512];

        (void)state;
        BEGIN("m.config/fish");
        assert_int_equal(mkdir(at("work/.config"), 0700), 0);
        guard_rest(&g);
        while (read(g.inotify, events, sizeof events) > 0)
                continue;
        assert_int_equal(mkdir(at("work/.config/fish"), 0700), 0);
        assert_true(read(g.inotify, events, sizeof events) > 0);
        guard_sweep(&g);
        g.is_busy = true;
        guard_sweep(&g);
        assert_true(is_there("work/.config/fish") && news_count == 0);
}

static void
begin_now(struct guard *guard)
{
        guard->is_busy = true;
}

static void
begin_and_end(struct guard *guard)
{
        guard_rest(guard);
}

/* The guard saw the directory before it knew of the command that created it. */
static void
a_command_that_began_meanwhile_made_it(void **state)
{
        void (*const meanwhile[])(struct guard *) = { begin_now, begin_and_end };

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                BEGIN("m.envrc\0m.vscode");
                g.is_busy = false;
                g.refresh = meanwhile[i];
                make_file("work/.envrc");
                guard_sweep(&g);
                assert_false(is_there("work/.envrc"));
                assert_int_equal(news[news_count - 1].what, KEPT_MOVED);
                g.refresh = NULL;
                g.is_busy = true;
                make_file("work/.envrc");
                guard_sweep(&g);
                assert_false(is_there("work/.envrc"));
                guard_end(&g);
        }
}

static void
write_text(const char *name, const char *text)
{
        scoped_fd int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static bool
has_text(const char *name, const char *text)
{
        scoped_fd int fd = open(at(name), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        char bytes[512];
        ssize_t len = read(fd, bytes, sizeof bytes);

        return len == (ssize_t)strlen(text) && memcmp(bytes, text, (size_t)len) == 0;
}

/* A mount of .git itself. */
static void
a_configuration_at_the_top_is_put_back(void **state)
{
        (void)state;
        write_text("work/config", "[user]\n\tname = a\n");
        BEGIN("gconfig\0gconfig.worktree");
        write_text("work/config", "[alias]\n\tst = x\n");
        write_text("work/config.worktree", "[alias]\n\tst = x\n");
        guard_end(&g);
        assert_true(has_text("work/config", "[user]\n\tname = a\n") &&
                    !is_there("work/config.worktree") && news_count == 2);
}

#define HOOKS "[core]\n\thooksPath = .husky\n"
#define NAMED HOOKS "[user]\n\tname = a\n"

static void
a_configuration_changes_as_far_as_it_runs_nothing(void **state)
{
        struct stat st;

        (void)state;
        assert_int_equal(mkdir(at("work/.git"), 0700), 0);
        write_text("work/.git/config", HOOKS);
        BEGIN("g.git/config\0g.git/config.worktree");
        write_text("work/.git/new", NAMED);
        assert_int_equal(rename(at("work/.git/new"), at("work/.git/config")), 0);
        write_text("work/.git/config.worktree", "[core]\n\tsparseCheckout = true\n");
        guard_sweep(&g);
        assert_true(has_text("work/.git/config", NAMED) && is_there("work/.git/config.worktree") &&
                    news_count == 0);
        write_text("work/.git/config", NAMED "[core]\n\tfsmonitor = x\n");
        write_text("work/.git/config.worktree", "[alias]\n\tst = x\n");
        guard_sweep(&g);
        assert_true(has_text("work/.git/config", NAMED) &&
                    has_text("work/.git/config.worktree", "[core]\n\tsparseCheckout = true\n"));
        assert_true(news_count == 2 && news[0].what == KEPT_RESTORED &&
                    news[1].what == KEPT_RESTORED);
        assert_string_equal(news[0].key, "core.fsmonitor");
        assert_string_equal(news[1].key, "alias.st");
        assert_true(has_text("state/kept/0/.git%config", NAMED "[core]\n\tfsmonitor = x\n"));
        assert_int_equal(stat(at("work/.git/config"), &st), 0);
        assert_int_equal(st.st_mode & 0777, 0640);
        /* the project's own hooks are gone too */
        assert_int_equal(unlink(at("work/.git/config")), 0);
        guard_sweep(&g);
        assert_true(has_text("work/.git/config", NAMED) && news_count == 3);
        assert_int_equal(unlink(at("work/.git/config")) | symlink("new", at("work/.git/config")),
                         0);
        guard_sweep(&g);
        assert_true(has_text("work/.git/config", NAMED) && news_count == 4 &&
                    news[3].key[0] == '\0');
        write_text("work/.git/config", NAMED "[x\n");
        guard_sweep(&g);
        assert_true(has_text("work/.git/config", NAMED) && news_count == 5 && !g.must_kill);
        g.is_busy = false;
        write_text("work/.git/config", "[alias]\n\tst = x\n"); /* written by the host */
        guard_sweep(&g);
        g.is_busy = true;
        write_text("work/.git/config", "[alias]\n\tst = x\n[user]\n\temail = b\n");
        guard_end(&g);
        assert_true(has_text("work/.git/config", "[alias]\n\tst = x\n[user]\n\temail = b\n") &&
                    news_count == 5);
}

/* Root moves it with the ids of the directory's owner, into a directory of that owner. */
static void
root_acts_as_the_owner(void **state)
{
        struct stat st;

        (void)state;
        if (geteuid() != 0)
                skip();
        assert_int_equal(chmod(base, 0755) | chown(work, 1234, 1234), 0);
        BEGIN("m.envrc\0m.vscode");
        make_file("work/.envrc");
        assert_int_equal(chown(at("work/.envrc"), 1234, 1234), 0);
        /* owned by root, so the owner of the workspace cannot move it */
        assert_int_equal(mkdir(at("work/.vscode"), 0700), 0);
        guard_sweep(&g);
        assert_true(is_there("state/kept/0/.envrc"));
        assert_int_equal(stat(at("state/kept/0"), &st), 0);
        assert_int_equal(st.st_uid, 1234);
        assert_int_equal(stat(at("state/kept"), &st), 0);
        assert_int_equal(st.st_uid, 0);
        assert_true(is_there("work/.vscode"));
        assert_int_equal(news[news_count - 1].what, KEPT_STUCK);
        assert_false(g.must_kill); /* the payload cannot have created it */
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, bench_open, bench_close)
        const struct CMUnitTest tests[] = {
                CASE(a_created_name_is_moved_and_reported),
                CASE(what_is_there_by_now_is_left),
                CASE(links_are_moved_and_never_followed),
                CASE(a_change_of_content_is_reported),
                CASE(another_file_system_gets_a_copy),
                CASE(strict_and_endless_end_the_box),
                CASE(what_appears_in_peace_is_the_hosts),
                CASE(a_directory_on_the_way_is_watched_after_a_command),
                CASE(a_command_that_began_meanwhile_made_it),
                CASE(a_configuration_at_the_top_is_put_back),
                CASE(a_configuration_changes_as_far_as_it_runs_nothing),
                CASE(root_acts_as_the_owner),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
