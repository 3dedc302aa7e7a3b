/* maker/unnamed_test.c - what maker/unnamed.h promises, of a child of this test. */
#include "base/unit.h"
#include "maker/unnamed.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };

static char bytes[BYTES] = { 1 };

struct bench {
        char top[64], private[80];
        _Alignas(8) char packed[1024];
        struct plan_view view;
        dev_t device;
        pid_t child;
};

static int
set_up(void **state)
{
        static struct bench b;
        struct step step = { .op = STEP_PRIVATE, .path = b.private, .text = "tmp", .source = -1 };
        struct stat st;

        (void)snprintf(b.top, sizeof b.top, "/var/tmp/carrel-unnamed-test-XXXXXX");
        assert_non_null(mkdtemp(b.top));
        (void)snprintf(b.private, sizeof b.private, "%s/tmp", b.top);
        assert_int_equal(mkdir(b.private, 0700), 0);
        assert_int_equal(stat(b.private, &st), 0);
        b.device = st.st_dev;
        step.flags = STEP_ON_IMAGE;
        assert_true(plan_pack_len(&step, 1) <= sizeof b.packed);
        plan_pack(&step, 1, 0, b.packed);
        assert_int_equal(plan_unpack(b.packed, plan_pack_len(&step, 1), &b.view), 0);
        b.child = 0;
        *state = &b;
        return 0;
}

static int
tear_down(void **state)
{
        struct bench *b = *state;

        if (b->child > 0) {
                (void)kill(b->child, SIGKILL);
                (void)waitpid(b->child, NULL, 0);
        }
        return rmdir(b->private) < 0 ? -1 : rmdir(b->top);
}

/* A child that holds the file `name` open, under two descriptors. */
static void
hold(struct bench *b, const char *name)
{
        char path[128], one;
        int ends[2];

        (void)snprintf(path, sizeof path, "%s/%s", b->top, name);
        assert_int_equal(pipe(ends), 0);
        b->child = fork();
        assert_true(b->child >= 0);
        if (b->child == 0) {
                int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (fd < 0 || write(fd, bytes, BYTES) != BYTES || fsync(fd) < 0 || dup(fd) < 0 ||
                    unlink(path) < 0)
                        _exit(1);
                (void)!write(ends[1], "x", 1);
                (void)pause();
                _exit(0);
        }
        (void)close(ends[1]);
        assert_int_equal(read(ends[0], &one, 1), 1);
        (void)close(ends[0]);
}

static void
an_open_file_without_a_name_counts_once(void **state)
{
        struct bench *b = *state;
        uint64_t found;

        hold(b, "tmp/file");
        found = unnamed_bytes(&b->view, getpid(), b->device);
        assert_true(found >= BYTES && found < 2 * BYTES);
        assert_int_equal(unnamed_bytes(&b->view, getpid(), b->device + 1), 0);
}

static void
a_file_of_another_place_on_that_disk_does_not(void **state)
{
        struct bench *b = *state;

        hold(b, "file");
        assert_int_equal(unnamed_bytes(&b->view, getpid(), b->device), 0);
}

static void
nothing_is_open_nothing_counts(void **state)
{
        struct bench *b = *state;

        assert_int_equal(unnamed_bytes(&b->view, getpid(), b->device), 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(an_open_file_without_a_name_counts_once, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_file_of_another_place_on_that_disk_does_not,
                                                set_up, tear_down),
                cmocka_unit_test_setup_teardown(nothing_is_open_nothing_counts, set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
