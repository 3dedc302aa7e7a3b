/* sources/gitconfig_test.c - what sources/gitconfig.h promises. */
#include "sources/gitconfig.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/unit.h"

#define OWN                                                                                      \
        "[safe]\n\tdirectory = *\n[core]\n\tcheckStat = minimal\n[gc]\n\tworktreePruneExpire = " \
        "never\n"

static char base[64];
static struct arena arena;

static int
bench_open(void **state)
{
        (void)state;
        arena_init(&arena, 16 << 20);
        (void)snprintf(base, sizeof base, "/tmp/carrel-gitconfig-XXXXXX");
        return mkdtemp(base) && chdir(base) == 0 && mkdir(".config", 0700) == 0 &&
                               mkdir(".config/git", 0700) == 0
                       ? 0
                       : -1;
}

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
        (void)st, (void)kind, (void)where;
        return remove(path);
}

static int
bench_close(void **state)
{
        (void)state;
        arena_fini(&arena);
        return chdir("/") | nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
put(const char *name, const char *text)
{
        scoped_fd int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void
assert_made(const char *workspace, const char *wanted)
{
        struct gitconfig_request r = { .home = base, .workspace = workspace };
        const char *text = NULL;
        struct error e;

        assert_int_equal(gitconfig_make(&arena, &r, &text, &e), 0);
        assert_true(strncmp(text, OWN, strlen(OWN)) == 0);
        assert_string_equal(text + strlen(OWN), wanted);
}

static void
three_keys_are_taken(void **state)
{
        (void)state;
        assert_made(NULL, "");
        put(".config/git/config", "[user]\nname = X\nemail = x@y\n");
        put(".gitconfig",
            "[user]\n\tname = \"A \\\"B\\\" C\"\n\tsigningkey = k\n[core]\n\tfsmonitor = "
            "evil\n[init]\n\tdefaultBranch = main\n[alias]\n\tx = !evil\n");
        assert_made(NULL, "[user]\n\tname = \"A \\\"B\\\" C\"\n[user]\n\temail = "
                          "\"x@y\"\n[init]\n\tdefaultBranch = \"main\"\n");
}

static void
unreadable_files_have_no_effect(void **state)
{
        (void)state;
        put(".gitconfig", "[user]\n\tname = A\n[evil\n");
        assert_made(NULL, "");
        put(".gitconfig", "[user]\n\tname = \"A\\nB\"\n\temail\n");
        assert_made(NULL, "");
        assert_int_equal(unlink(".gitconfig") | mkfifo(".gitconfig", 0600), 0);
        assert_made(NULL, "");
}

static void
includes_are_followed(void **state)
{
        (void)state;
        put(".gitconfig", "[user]\n\tname = A\n[include]\n\tpath = more\n\tpath = ~/more2\n");
        put("more", "[user]\n\tname = B\n\temail = b\n");
        put("more2", "[user]\n\temail = c\n");
        assert_made(NULL, "[user]\n\tname = \"B\"\n[user]\n\temail = \"c\"\n");
        /* git refuses a loop; here it ends */
        put(".gitconfig", "[init]\n\tdefaultBranch = m\n[include]\n\tpath = .gitconfig\n");
        assert_made(NULL, "[init]\n\tdefaultBranch = \"m\"\n");
}

static void
a_condition_holds_or_gives_no_identity(void **state)
{
        char text[256], work[128], workshop[128];

        (void)state;
        (void)snprintf(work, sizeof work, "%s/work/one", base);
        (void)snprintf(workshop, sizeof workshop, "%s/workshop", base);
        put(".gitconfig", "[user]\n\tname = A\n\temail = a\n[init]\n\tdefaultBranch = "
                          "m\n[includeIf \"gitdir:~/work/\"]\n\tpath = more\n");
        put("more", "[user]\n\temail = work\n");
        assert_made(work, "[user]\n\tname = \"A\"\n[user]\n\temail = "
                          "\"work\"\n[init]\n\tdefaultBranch = \"m\"\n");
        assert_made(workshop, "[user]\n\tname = \"A\"\n[user]\n\temail = "
                              "\"a\"\n[init]\n\tdefaultBranch = \"m\"\n");
        (void)snprintf(text, sizeof text,
                       "[user]\n\tname = A\n[init]\n\tdefaultBranch = m\n[includeIf "
                       "\"onbranch:x\"]\n\tpath = more\n");
        put(".gitconfig", text);
        assert_made(work, "[init]\n\tdefaultBranch = \"m\"\n");
        put("more", "[core]\n\teditor = vi\n");
        assert_made(work, "[user]\n\tname = \"A\"\n[init]\n\tdefaultBranch = \"m\"\n");
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(three_keys_are_taken, bench_open, bench_close),
                cmocka_unit_test_setup_teardown(unreadable_files_have_no_effect, bench_open,
                                                bench_close),
                cmocka_unit_test_setup_teardown(includes_are_followed, bench_open, bench_close),
                cmocka_unit_test_setup_teardown(a_condition_holds_or_gives_no_identity, bench_open,
                                                bench_close),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
