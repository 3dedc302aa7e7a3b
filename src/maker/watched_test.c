/* maker/watched_test.c - what maker/watched.h promises: the watch sees what is too much. */
#include "base/unit.h"
#include "maker/watched.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ID = 7, MB = 1, SMALL = 100, MANY = 300 };

struct bench {
        char top[64], place[96];
        struct watched w;
};

static int
set_up(void **state)
{
        static struct bench b;

        (void)snprintf(b.top, sizeof b.top, "/tmp/carrel-watched-test-XXXXXX");
        assert_non_null(mkdtemp(b.top));
        (void)snprintf(b.place, sizeof b.place, "%s/private", b.top);
        watched_init(&b.w);
        assert_int_equal(b.w.due_ms, UINT64_MAX);
        assert_int_equal(watched_open(&b.w, b.place, ID, MB, geteuid(), getegid()), 0);
        *state = &b;
        return 0;
}

static int
tear_down(void **state)
{
        struct bench *b = *state;

        watched_close(&b->w);
        return rmdir(b->place) < 0 ? -1 : rmdir(b->top);
}

static void
make_files(const struct bench *b, int first, int count)
{
        char name[32];

        for (int i = first; i < first + count; i++) {
                int fd;

                (void)snprintf(name, sizeof name, "f%d", i);
                fd = openat(b->w.place.top, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
                assert_true(fd >= 0);
                (void)close(fd);
        }
}

/* Looks at once, without regard to the clock and to free space. */
static void
look(struct bench *b)
{
        b->w.due_ms = 0;
        b->w.counted_ms = 0;
        watched_look(&b->w);
}

static void
too_much_is_seen_at_the_next_look(void **state)
{
        struct bench *b = *state;

        assert_true(b->w.bytes == UINT64_MAX);
        make_files(b, 0, SMALL);
        look(b);
        assert_false(b->w.is_over);
        assert_int_equal(b->w.bytes, SMALL * TALLY_FILE_BYTES);
        assert_true(b->w.due_ms > 0 && b->w.due_ms < UINT64_MAX);
        make_files(b, SMALL, MANY - SMALL);
        look(b);
        assert_true(b->w.is_over);
        assert_int_equal(b->w.due_ms, UINT64_MAX);
}

/* Something may have been moved during a count of several looks, and seen twice. */
static void
a_count_of_several_looks_has_to_find_it_twice(void **state)
{
        struct bench *b = *state;
        uint64_t bytes;

        make_files(b, 0, MANY);
        assert_int_equal(tally_look(&b->w.tally, 1, &bytes), 0);
        b->w.is_counting = true;
        look(b);
        assert_false(b->w.is_over);
        look(b);
        assert_true(b->w.is_over);
}

/* Deeper than the walk: over if the disk has lost more than the limit, and not before. */
static void
what_hides_from_the_count_is_over_if_the_disk_lost_more(void **state)
{
        struct bench *b = *state;
        int at = fcntl(b->w.place.top, F_DUPFD_CLOEXEC, 3);

        for (int i = 0; i < TALLY_DEPTH_MAX + 2; i++) {
                int next;

                assert_int_equal(mkdirat(at, "d", 0700), 0);
                next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                assert_true(next >= 0);
                (void)close(at);
                at = next;
        }
        (void)close(at);
        b->w.limit = UINT64_C(1) << 30;
        b->w.start_free = 0;
        look(b);
        assert_true(b->w.tally.has_gaps);
        assert_false(b->w.is_over);
        b->w.start_free = UINT64_MAX;
        look(b);
        assert_true(b->w.is_over);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(too_much_is_seen_at_the_next_look, set_up,
                                                tear_down),
                cmocka_unit_test_setup_teardown(
                        what_hides_from_the_count_is_over_if_the_disk_lost_more, set_up, tear_down),
                cmocka_unit_test_setup_teardown(a_count_of_several_looks_has_to_find_it_twice,
                                                set_up, tear_down),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
