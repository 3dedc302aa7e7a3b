/* box/log_test.c - box/log.h: every byte has its offset, and only the oldest are dropped. */
#include "base/unit.h"
#include "box/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory_name[] = "/tmp/carrel-log-XXXXXX";
static int directory = -1;

static int
make_directory(void **state)
{
        (void)state;
        if (!mkdtemp(directory_name))
                return -1;
        directory = open(directory_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return directory < 0 ? -1 : 0;
}

static int
remove_directory(void **state)
{
        (void)state;
        (void)close(directory);
        return rmdir(directory_name); /* a log leaves no file name behind */
}

/* The byte with this offset, the same for every writer. */
static unsigned char
byte_at(uint64_t offset)
{
        return (unsigned char)(offset * 31 + (offset >> 8) * 7 + (offset >> 16));
}

static void
put(struct log *l, size_t len)
{
        struct iovec pieces[2];
        uint64_t at = l->end;
        size_t given = 0;
        int count = log_space(l, len, pieces);

        assert_true(count > 0);
        for (int i = 0; i < count; i++)
                for (size_t k = 0; k < pieces[i].iov_len; k++, given++)
                        ((unsigned char *)pieces[i].iov_base)[k] = byte_at(at + given);
        assert_true(given > 0 && given <= len);
        log_commit(l, given);
        if (given < len)
                put(l, len - given);
}

static void
is_whole(const struct log *l, uint64_t from)
{
        uint64_t at;
        struct iovec pieces[2];

        for (;;) {
                int count = log_peek(l, from, 1000, pieces, &at);

                assert_true(at >= from);
                if (count == 0)
                        break;
                from = at;
                for (int i = 0; i < count; i++)
                        for (size_t k = 0; k < pieces[i].iov_len; k++, from++)
                                if (((const unsigned char *)pieces[i].iov_base)[k] != byte_at(from))
                                        fail_msg("byte %llu is another one",
                                                 (unsigned long long)from);
        }
        assert_int_equal(from > l->end ? from : l->end, from);
}

struct log_row {
        const char *what;
        uint64_t keep;
        size_t parts[6];
        uint64_t first, end;
        size_t room;
        unsigned is_mapped;
};

static const struct log_row rows[] = {
        { "nothing takes no memory", 1 << 20, { 0 }, 0, 0, 0, 0 },
        { "a line takes one page", 1 << 20, { 6 }, 0, 6, LOG_FIRST, 0 },
        { "a page and a byte take two",
          1 << 20,
          { LOG_FIRST, 1 },
          0,
          LOG_FIRST + 1,
          2 * LOG_FIRST,
          0 },
        { "all that the heap may hold",
          1 << 20,
          { LOG_HEAP_MAX },
          0,
          LOG_HEAP_MAX,
          LOG_HEAP_MAX,
          0 },
        { "one more is a file", 1 << 20, { LOG_HEAP_MAX, 1 }, 0, LOG_HEAP_MAX + 1, 1 << 20, 1 },
        { "a full file forgets its oldest",
          1 << 20,
          { 1 << 20, 5000 },
          5000,
          (1 << 20) + 5000,
          1 << 20,
          1 },
        { "a small one forgets on the heap", 10000, { 9000, 2000 }, 1000, 11000, 10000, 0 },
        { "less than a page is a page", 1, { 3000, 3000 }, 6000 - LOG_FIRST, 6000, LOG_FIRST, 0 },
        { "more at once than it keeps", 5000, { 17000 }, 12000, 17000, 5000, 0 },
        { "round and round",
          5000,
          { 4999, 4999, 4999, 4999, 4999, 4999 },
          6 * 4999 - 5000,
          6 * 4999,
          5000,
          0 },
};

static void
only_the_oldest_bytes_are_forgotten(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct log l;

                log_init(&l, rows[i].keep, directory);
                for (size_t p = 0; p < 6 && rows[i].parts[p] > 0; p++)
                        put(&l, rows[i].parts[p]);
                if (l.first != rows[i].first || l.end != rows[i].end || l.room != rows[i].room ||
                    l.is_mapped != rows[i].is_mapped)
                        fail_msg("%s: %llu to %llu in %zu, mapped %u", rows[i].what,
                                 (unsigned long long)l.first, (unsigned long long)l.end, l.room,
                                 l.is_mapped);
                is_whole(&l, 0);
                is_whole(&l, l.first + (l.end - l.first) / 2);
                log_fini(&l);
                assert_int_equal(l.end, rows[i].end);
        }
}

/* Random lengths in random order, checked by arithmetic. */
static void
every_byte_stays_at_its_offset(void **state)
{
        uint64_t seed = 88172645463325252ull;
        struct log l;

        (void)state;
        log_init(&l, 200000, directory);
        for (int i = 0; i < 3000; i++) {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                put(&l, 1 + seed % 3000);
                assert_true(l.end - l.first <= 200000);
                if (i % 100 == 0)
                        is_whole(&l, l.first);
        }
        is_whole(&l, 0);
        assert_int_equal(l.end - l.first, 200000);
        log_fini(&l);
}

static void
without_a_directory_it_stays_on_the_heap(void **state)
{
        struct log l;

        (void)state;
        log_init(&l, 1 << 20, -1);
        for (int i = 0; i < 100; i++)
                put(&l, 3000);
        assert_int_equal(l.room, LOG_HEAP_MAX);
        assert_int_equal(l.end, 300000);
        assert_int_equal(l.end - l.first, LOG_HEAP_MAX);
        is_whole(&l, 0);
        log_fini(&l);
}

static void
room_behind_a_reader_is_what_may_still_come(void **state)
{
        struct log l;

        (void)state;
        log_init(&l, 10000, directory);
        put(&l, 4000);
        assert_int_equal(log_free_behind(&l, 0), 6000);
        assert_int_equal(log_free_behind(&l, 4000), 10000);
        assert_int_equal(log_free_behind(&l, 5000), 10000);
        put(&l, 6000);
        assert_int_equal(log_free_behind(&l, 0), 0);
        put(&l, 6000);
        assert_int_equal(log_free_behind(&l, 0), 0);
        log_fini(&l);
}

static void
what_was_not_needed_is_given_back(void **state)
{
        static const struct {
                uint64_t keep;
                size_t parts[2], room;
        } ends[] = {
                { 1 << 20, { 0 }, 0 },
                { 1 << 20, { 10 }, 10 },
                { 1 << 20, { 4000, 4000 }, 8192 },
                { 1 << 20, { 8192, 9 }, 16384 },
                { 1 << 20, { 8000, 200 }, 16384 },
                { 4096, { 4096, 100 }, 4096 },
                { 1 << 20, { 70000 }, 1 << 20 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
                struct log l;
                uint64_t first, end;

                log_init(&l, ends[i].keep, directory);
                for (size_t p = 0; p < 2 && ends[i].parts[p] > 0; p++)
                        put(&l, ends[i].parts[p]);
                first = l.first;
                end = l.end;
                log_shrink(&l);
                assert_true(l.first == first && l.end == end);
                if (l.room != ends[i].room && l.room != end - first)
                        fail_msg("row %zu: %zu", i, l.room);
                is_whole(&l, 0);
                log_fini(&l);
        }
}

/*
 * The files of one box are limited, whatever its callers request; freed space is available again.
 */
static void
files_are_bounded(void **state)
{
        struct iovec pieces[2];
        struct log a, b;

        (void)state;
        log_init(&a, 2 * LOG_HEAP_MAX, directory);
        assert_true(log_space(&a, LOG_HEAP_MAX + 1, pieces) > 0);
        assert_true(a.is_mapped && a.room == 2 * LOG_HEAP_MAX);
        log_init(&b, LOG_FILES_MAX - LOG_HEAP_MAX, directory);
        for (int i = 0; i < 40; i++) {
                assert_true(log_space(&b, LOG_FIRST, pieces) > 0);
                log_commit(&b, LOG_FIRST);
        }
        assert_true(!b.is_mapped && b.room == LOG_HEAP_MAX && b.keep == LOG_HEAP_MAX);
        assert_int_equal(b.end - b.first, LOG_HEAP_MAX);
        assert_int_equal(log_free_behind(&b, b.first), 0);
        log_fini(&b);
        log_fini(&a);
        for (int i = 0; i < LOG_FILES_MAX / LOG_HEAP_MAX; i++) {
                log_init(&a, 2 * LOG_HEAP_MAX, directory);
                assert_true(log_space(&a, LOG_HEAP_MAX + 1, pieces) > 0);
                assert_true(a.is_mapped);
                log_fini(&a);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(only_the_oldest_bytes_are_forgotten),
                cmocka_unit_test(every_byte_stays_at_its_offset),
                cmocka_unit_test(without_a_directory_it_stays_on_the_heap),
                cmocka_unit_test(room_behind_a_reader_is_what_may_still_come),
                cmocka_unit_test(what_was_not_needed_is_given_back),
                cmocka_unit_test(files_are_bounded),
        };

        return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
