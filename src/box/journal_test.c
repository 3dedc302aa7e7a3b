/* box/journal_test.c - box/journal.h: complete entries, in order, whatever happens to a write. */
#include "base/unit.h"
#include "box/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 32 };

static char directory_name[] = "/tmp/carrel-journal-XXXXXX";
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
        (void)unlinkat(directory, "journal", 0);
        (void)close(directory);
        return rmdir(directory_name);
}

static size_t
read_back(struct box_journal entries[ROOM])
{
        int fd = openat(directory, "journal", O_RDONLY | O_CLOEXEC);
        ssize_t len;

        assert_true(fd >= 0);
        len = read(fd, entries, ROOM * sizeof *entries);
        (void)close(fd);
        assert_true(len >= 0 && (size_t)len % sizeof *entries == 0);
        return (size_t)len / sizeof *entries;
}

static void
what_was_written_is_read_back_in_order(void **state)
{
        static struct box_journal entries[ROOM];
        struct wire_box_listed listed = { .exec = 7, .key = "a key", .command = "true" };
        struct journal j;

        (void)state;
        assert_int_equal(journal_open(&j, directory, 2), 0);
        assert_int_equal(journal_append(&j, WIRE_BOX_STARTED, 7, &listed), 0);
        assert_int_equal(journal_append(&j, WIRE_BOX_FINISHED, 7, &listed), 0);
        assert_int_equal(journal_append(&j, WIRE_BOX_GONE, 0, NULL), 0);
        journal_close(&j);
        assert_int_equal(read_back(entries), 4);
        assert_true(entries[0].kind == 0 && entries[0].exec == 2);
        assert_true(entries[1].kind == WIRE_BOX_STARTED && entries[1].exec == 7);
        assert_string_equal(entries[2].listed.key, "a key");
        assert_true(entries[3].kind == WIRE_BOX_GONE && entries[3].listed.exec == 0);
        assert_int_equal(journal_append(&j, WIRE_BOX_GONE, 0, NULL), -EBADF);
}

/* A file at its size limit takes a part of an entry, and that part is truncated. */
static void
a_torn_entry_is_taken_back(void **state)
{
        static struct box_journal entries[ROOM];
        struct sigaction ignored = { .sa_handler = SIG_IGN };
        struct rlimit limit, before;
        struct journal j;

        (void)state;
        assert_int_equal(journal_open(&j, directory, 2), 0);
        assert_int_equal(journal_append(&j, WIRE_BOX_STARTED, 1, NULL), 0);
        assert_int_equal(sigaction(SIGXFSZ, &ignored, NULL), 0);
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        limit = (struct rlimit){ 2 * sizeof(struct box_journal) + 100, before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_true(journal_append(&j, WIRE_BOX_FINISHED, 1, NULL) < 0);
        assert_int_equal(read_back(entries), 2);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(journal_append(&j, WIRE_BOX_FINISHED, 1, NULL), 0);
        assert_int_equal(read_back(entries), 3);
        assert_int_equal(entries[2].kind, WIRE_BOX_FINISHED);
        journal_close(&j);
}

static void
a_rewritten_journal_replaces_the_old_one_at_the_end(void **state)
{
        static struct box_journal entries[ROOM];
        struct journal j, anew;
        struct stat st;

        (void)state;
        assert_int_equal(journal_open(&j, directory, 2), 0);
        for (uint32_t i = 1; i <= 9; i++)
                assert_int_equal(journal_append(&j, WIRE_BOX_STARTED, i, NULL), 0);
        assert_int_equal(journal_begin_anew(&j, &anew, 2), 0);
        assert_int_equal(journal_append(&anew, WIRE_BOX_FINISHED, 9, NULL), 0);
        assert_int_equal(read_back(entries), 10);
        assert_int_equal(journal_end_anew(&j, &anew), 0);
        assert_int_equal(journal_append(&j, WIRE_BOX_STARTED, 10, NULL), 0);
        assert_int_equal(read_back(entries), 3);
        assert_true(entries[0].exec == 2 && entries[1].exec == 9 && entries[2].exec == 10);
        assert_int_equal(fstatat(directory, "journal.new", &st, 0), -1);
        journal_close(&j);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_was_written_is_read_back_in_order),
                cmocka_unit_test(a_torn_entry_is_taken_back),
                cmocka_unit_test(a_rewritten_journal_replaces_the_old_one_at_the_end),
        };

        return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
