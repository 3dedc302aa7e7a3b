/*
 * volume/private_test.c - what volume/private.h promises: locked while it lives, erased at its end,
 * and found by a sweep after its maker was killed.
 */
#include "base/unit.h"
#include "volume/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "volume/volume.h"

enum { ID = 0x12ab };

struct bench {
        char top[64], place[VOLUME_PATH_MAX];
};

static int
set_up(void **state)
{
        static struct bench b;

        (void)snprintf(b.top, sizeof b.top, "/tmp/carrel-private-test-XXXXXX");
        assert_non_null(mkdtemp(b.top));
        (void)snprintf(b.place, sizeof b.place, "%s/private", b.top);
        *state = &b;
        return 0;
}

static int
tear_down(void **state)
{
        const struct bench *b = *state;

        (void)rmdir(b->place); /* not empty: the next line fails */
        return rmdir(b->top);
}

static int
open_it(const struct bench *b, uint64_t id, struct private_directory *p)
{
        return private_open(b->place, id, geteuid(), getegid(), p);
}

/* As a payload may leave it: a directory closed to its owner with a file in it. */
static void
fill(const struct private_directory *p)
{
        int fd;

        assert_int_equal(mkdirat(p->top, "closed", 0700), 0);
        fd = openat(p->top, "closed/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        (void)close(fd);
        assert_int_equal(fchmodat(p->top, "closed", 0, 0), 0);
}

static void
sweep(const struct bench *b)
{
        struct volume_sweep s;

        volume_sweep_init(&s);
        assert_int_equal(volume_sweep(&s, b->place, UINT64_MAX), 0);
        volume_sweep_fini(&s);
}

static int
is_there(const struct private_directory *p)
{
        return faccessat(p->dir, p->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void
it_is_gone_with_all_it_holds(void **state)
{
        const struct bench *b = *state;
        struct private_directory p, none = { -1, -1, "" };
        struct stat st;

        assert_int_equal(open_it(b, ID, &p), 0);
        assert_int_equal(fstat(p.top, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
        fill(&p);
        private_close(&p);
        assert_int_equal(rmdir(b->place), 0);
        private_close(&p);
        private_close(&none);
}

static void
a_sweep_leaves_what_is_locked_and_erases_what_is_not(void **state)
{
        const struct bench *b = *state;
        struct private_directory p, q;

        assert_int_equal(open_it(b, ID, &p), 0);
        assert_int_equal(open_it(b, ID, &q), -EEXIST);
        fill(&p);
        sweep(b);
        assert_true(is_there(&p));
        (void)close(p.top); /* as a kill does */
        p.top = -1;
        sweep(b);
        assert_false(is_there(&p));
        private_close(&p);
}

static void
what_a_maker_began_is_swept_too(void **state)
{
        const struct bench *b = *state;
        struct private_directory p;
        char path[VOLUME_PATH_MAX + 32];

        assert_int_equal(open_it(b, ID, &p), 0);
        (void)snprintf(path, sizeof path, "%s/.new-00000000000012ac", b->place);
        assert_int_equal(mkdir(path, 0700), 0);
        sweep(b);
        assert_int_equal(access(path, F_OK), -1);
        private_close(&p);
}

static void
a_directory_that_others_may_enter_is_refused(void **state)
{
        const struct bench *b = *state;
        struct private_directory p;

        assert_int_equal(mkdir(b->place, 0700), 0);
        assert_int_equal(chmod(b->place, 0755), 0);
        assert_int_equal(open_it(b, ID, &p), -EPERM);
        assert_int_equal(rmdir(b->place), 0);
        assert_int_equal(symlink("/tmp", b->place), 0);
        assert_true(open_it(b, ID, &p) < 0);
        assert_int_equal(unlink(b->place), 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(it_is_gone_with_all_it_holds, set_up, tear_down),
                cmocka_unit_test_setup_teardown(
                        a_sweep_leaves_what_is_locked_and_erases_what_is_not, set_up, tear_down),
                cmocka_unit_test_setup_teardown(what_a_maker_began_is_swept_too, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_directory_that_others_may_enter_is_refused,
                                                set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
