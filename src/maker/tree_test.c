/*
 * maker/tree_test.c - what maker/tree.h promises, and that a maker killed at any moment leaves no
 * helper process.
 */
#include "base/unit.h"
#include "maker/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { OWNER = 0, BOX = 1900000001, KILLS = 60, ALWAYS_MS = 60000 };

static int
open_source(void)
{
        return open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int
can_map(void)
{
        int source = open_source();
        int tree = geteuid() == 0 ? tree_open(source, OWNER, OWNER, BOX, BOX) : -EPERM;

        (void)close(source);
        if (tree >= 0)
                (void)close(tree);
        return tree >= 0;
}

static void
shows_the_owner_as_the_box(void **state)
{
        int source = open_source();
        struct stat st;
        int tree;

        (void)state;
        if (!can_map())
                skip(); /* only root can map ids, and not on every file system */
        tree = tree_open(source, OWNER, OWNER, BOX, BOX);
        assert_true(tree >= 0);
        assert_int_equal(fstat(tree, &st), 0);
        assert_int_equal(st.st_uid, BOX);
        (void)close(tree);
        tree = tree_open_plain(source);
        assert_true(tree >= 0);
        assert_int_equal(fstat(tree, &st), 0);
        assert_int_equal(st.st_uid, OWNER);
        (void)close(tree);
        (void)close(source);
}

static _Noreturn void
open_for_ever(void)
{
        int source = open_source();

        (void)setpgid(0, 0);
        for (;;) {
                int tree = tree_open(source, OWNER, OWNER, BOX, BOX);

                if (tree < 0)
                        _exit(1);
                (void)close(tree);
        }
}

/* This process reaps the orphans of a group (see main), so that they do not wait for pid 1. */
static int
group_is_gone(pid_t group)
{
        const struct timespec moment = { .tv_nsec = 1000000 };

        for (int i = 0; i < ALWAYS_MS; i++) {
                while (waitpid(-group, NULL, WNOHANG) > 0)
                        continue;
                if (kill(-group, 0) < 0 && errno == ESRCH)
                        return 1;
                (void)nanosleep(&moment, NULL);
        }
        /* a remaining process would keep the test runner's descriptors open */
        (void)kill(-group, SIGKILL);
        return 0;
}

/*
 * P1. The moments are random. If the helper did not close its end, some kills would leave a helper.
 */
static void
a_killed_maker_leaves_no_helper(void **state)
{
        unsigned seed = (unsigned)time(NULL);

        (void)state;
        if (!can_map())
                skip();
        print_message("# seed %u\n", seed);
        for (int i = 0; i < KILLS; i++) {
                struct timespec moment = { .tv_nsec =
                                                   200000 + (long)(rand_r(&seed) % 2000) * 1000 };
                pid_t pid = fork();

                assert_true(pid >= 0);
                if (pid == 0)
                        open_for_ever();
                (void)setpgid(pid, pid);
                (void)nanosleep(&moment, NULL);
                (void)kill(pid, SIGKILL);
                assert_int_equal(waitpid(pid, NULL, 0), pid);
                assert_true(group_is_gone(pid));
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(shows_the_owner_as_the_box),
                cmocka_unit_test(a_killed_maker_leaves_no_helper),
        };

        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
