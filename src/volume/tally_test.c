/*
 * volume/tally_test.c - what volume/tally.h promises: the same sum in parts of any size, each file
 * once, and no way out.
 */
#include "base/unit.h"
#include "volume/tally.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "volume/erase.h"

enum { DIRECTORIES = 20, FILES = 30, LOOKS_MAX = 100000 };

struct bench {
        char top[64];
        int fd;
};

static int
set_up(void **state)
{
        static struct bench b;

        (void)snprintf(b.top, sizeof b.top, "/tmp/carrel-tally-test-XXXXXX");
        assert_non_null(mkdtemp(b.top));
        b.fd = open(b.top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(b.fd >= 0);
        *state = &b;
        return 0;
}

static int
tear_down(void **state)
{
        const struct bench *b = *state;

        (void)close(b->fd);
        return erase_all(AT_FDCWD, b->top);
}

static void
touch(int dir, const char *name)
{
        int fd = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        (void)close(fd);
}

static void
fill(int top)
{
        char name[32];

        for (int i = 0; i < DIRECTORIES; i++) {
                (void)snprintf(name, sizeof name, "d%d", i);
                assert_int_equal(mkdirat(top, name, 0700), 0);
                for (int j = 0; j < FILES; j++) {
                        (void)snprintf(name, sizeof name, "d%d/f%d", i, j);
                        touch(top, name);
                }
        }
}

static uint64_t
count(int top, uint64_t budget, int *ret_looks)
{
        struct tally t;
        uint64_t bytes = 0;

        tally_init(&t, top);
        for (*ret_looks = 1; tally_look(&t, budget, &bytes) == 0; ++*ret_looks)
                assert_true(*ret_looks < LOOKS_MAX);
        tally_fini(&t);
        return bytes;
}

static void
the_sum_is_the_same_in_parts(void **state)
{
        const struct bench *b = *state;
        uint64_t whole, parts;
        int looks;

        fill(b->fd);
        whole = count(b->fd, UINT64_MAX, &looks);
        assert_int_equal(looks, 1);
        assert_true(whole >= (uint64_t)TALLY_FILE_BYTES * DIRECTORIES * (FILES + 1));
        for (uint64_t budget = 1; budget < 8; budget += 3) {
                parts = count(b->fd, budget, &looks);
                assert_int_equal(parts, whole);
                assert_true(looks > 20);
        }
}

static void
a_file_of_many_names_is_one(void **state)
{
        const struct bench *b = *state;
        static char block[1 << 16] = { 1 };
        uint64_t before, after;
        char name[32];
        int fd = openat(b->fd, "a", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), looks;

        assert_true(fd >= 0);
        assert_int_equal(write(fd, block, sizeof block), sizeof block);
        assert_int_equal(fsync(fd), 0);
        (void)close(fd);
        before = count(b->fd, UINT64_MAX, &looks);
        assert_true(before >= sizeof block);
        for (int i = 0; i < 7; i++) {
                (void)snprintf(name, sizeof name, "b%d", i);
                assert_int_equal(linkat(b->fd, "a", b->fd, name, 0), 0);
        }
        after = count(b->fd, UINT64_MAX, &looks);
        assert_true(after <= before);
}

/* The directory that the walk is in is moved: ".." leads elsewhere, and the walk begins again. */
static void
a_directory_that_is_moved_leads_nowhere(void **state)
{
        const struct bench *b = *state;
        struct tally t;
        uint64_t bytes = 0;
        int ended = 0;

        assert_int_equal(mkdirat(b->fd, "a", 0700), 0);
        assert_int_equal(mkdirat(b->fd, "a/b", 0700), 0);
        assert_int_equal(mkdirat(b->fd, "c", 0700), 0);
        touch(b->fd, "a/b/file");
        tally_init(&t, b->fd);
        for (int i = 0; i < LOOKS_MAX && t.depth < 2; i++)
                assert_int_equal(tally_look(&t, 1, &bytes), 0);
        assert_int_equal(renameat(b->fd, "a/b", b->fd, "c/b"), 0);
        while (t.breaks == 0)
                assert_int_equal(tally_look(&t, 1, &bytes), 0);
        for (int i = 0; i < LOOKS_MAX && !ended; i++)
                ended = tally_look(&t, 1, &bytes);
        assert_true(ended);
        assert_int_equal(t.breaks, 0);
        assert_true(bytes >= 4 * TALLY_FILE_BYTES && bytes < 64 * TALLY_FILE_BYTES);
        tally_fini(&t);
}

static void
links_are_not_followed_and_depth_has_a_bound(void **state)
{
        const struct bench *b = *state;
        int at = fcntl(b->fd, F_DUPFD_CLOEXEC, 3), looks;
        uint64_t bytes = 0;
        struct tally t;

        assert_int_equal(symlinkat("/", b->fd, "root"), 0);
        assert_true(count(b->fd, UINT64_MAX, &looks) == TALLY_FILE_BYTES);
        for (int i = 0; i < TALLY_DEPTH_MAX + 50; i++) {
                int next;

                assert_int_equal(mkdirat(at, "d", 0700), 0);
                next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_true(next >= 0);
                (void)close(at);
                at = next;
        }
        (void)close(at);
        tally_init(&t, b->fd);
        assert_int_equal(tally_look(&t, UINT64_MAX, &bytes), 1);
        assert_true(bytes >= (uint64_t)TALLY_DEPTH_MAX * TALLY_FILE_BYTES);
        assert_true(t.has_gaps);
        tally_fini(&t);
}

/* Root reads every directory, so it gives that up. */
static void
a_closed_directory_is_a_gap_until_it_is_opened(void **state)
{
        static const mode_t modes[] = { 0, 0100, 0300, 0400, 0600 };
        const struct bench *b = *state;
        uid_t self = geteuid();

        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
                uint64_t before = 0, after = 0;
                struct tally t;

                assert_int_equal(fchown(b->fd, 1000, (gid_t)-1) < 0 && self == 0, 0);
                if (self == 0)
                        assert_int_equal(seteuid(1000), 0);
                assert_int_equal(mkdirat(b->fd, "a", 0700), 0);
                assert_int_equal(mkdirat(b->fd, "a/b", 0700), 0);
                touch(b->fd, "a/b/file");
                assert_int_equal(fchmodat(b->fd, "a/b", modes[i], 0), 0);
                tally_init(&t, b->fd);
                assert_int_equal(tally_look(&t, UINT64_MAX, &before), 1);
                assert_true(t.has_gaps);
                assert_int_equal(t.breaks, 0);
                t.opens_up = true;
                assert_int_equal(tally_look(&t, UINT64_MAX, &after), 1);
                assert_false(t.has_gaps);
                assert_int_equal(after - before, TALLY_FILE_BYTES);
                tally_fini(&t);
                if (self == 0)
                        assert_int_equal(seteuid(self), 0);
                assert_int_equal(erase_all(b->fd, "a"), 0);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_sum_is_the_same_in_parts, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_file_of_many_names_is_one, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_directory_that_is_moved_leads_nowhere, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(a_closed_directory_is_a_gap_until_it_is_opened,
                                                set_up, tear_down),
                cmocka_unit_test_setup_teardown(links_are_not_followed_and_depth_has_a_bound,
                                                set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
