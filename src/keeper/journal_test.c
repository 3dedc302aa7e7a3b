/* keeper/journal_test.c - a journal cut at any byte gives its first entries (Z08). */
#include "keeper/journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unit.h"

enum { ENTRIES = 6 };

struct learned {
        unsigned count;
        struct wire_box_listed last;
};

static void
learn(void *context, const struct wire_box_listed *l)
{
        struct learned *learned = context;

        learned->count++;
        learned->last = *l;
}

static const struct journal_reader reader = { .learn = learn };

static struct box_journal entries[ENTRIES];

static void
make_entries(void)
{
        static const uint32_t kinds[ENTRIES] = { 0,
                                                 WIRE_BOX_STARTED,
                                                 WIRE_BOX_STARTED,
                                                 WIRE_BOX_FINISHED,
                                                 WIRE_BOX_FINISHED,
                                                 WIRE_BOX_GONE };
        static const uint32_t execs[ENTRIES] = { BOX_PROTOCOL, 1, 2, 1, 2, 0 };

        memset(entries, 0, sizeof entries);
        for (size_t i = 0; i < ENTRIES; i++) {
                entries[i].kind = kinds[i];
                entries[i].exec = execs[i];
                entries[i].listed.exec = i > 0 ? execs[i] : 0;
                entries[i].listed.state =
                        kinds[i] == WIRE_BOX_FINISHED ? BOX_EXEC_ENDED : BOX_EXEC_RUNNING;
                (void)snprintf(entries[i].listed.command, sizeof entries[i].listed.command,
                               "command %zu", i);
        }
        entries[ENTRIES - 1].listed.state = BOX_GONE_OOM;
}

static int
put(int boxes, size_t len)
{
        int fd = openat(boxes, "id/journal", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int result = write(fd, entries, len) == (ssize_t)len;

        (void)close(fd);
        return result;
}

static void
cut_anywhere_it_is_a_beginning(void **state)
{
        char directory[] = "/tmp/carrel-journal-XXXXXX";
        struct learned learned;
        struct wire_box_gone gone;
        int boxes;

        make_entries();
        assert_non_null(mkdtemp(directory));
        boxes = open(directory, O_RDONLY | O_DIRECTORY);
        assert_int_equal(journal_read(boxes, "id", &reader, &learned, &gone), 0);
        assert_int_equal(mkdirat(boxes, "id", 0700), 0);
        for (size_t len = 0; len <= sizeof entries; len++) {
                size_t whole = len / sizeof *entries, told = whole > 0 ? whole - 1 : 0;

                told = told < ENTRIES - 2 ? told : ENTRIES - 2;
                learned.count = 0;
                gone.cause = 99;
                assert_true(put(boxes, len));
                assert_int_equal(journal_read(boxes, "id", &reader, &learned, &gone),
                                 whole == ENTRIES);
                assert_int_equal(learned.count, told);
                if (told > 0)
                        assert_memory_equal(&learned.last, &entries[told].listed,
                                            sizeof learned.last);
                assert_int_equal(gone.cause, whole == ENTRIES ? BOX_GONE_OOM : 99);
        }
        assert_int_equal(unlinkat(boxes, "id/journal", 0), 0);
        assert_int_equal(mkfifoat(boxes, "id/journal", 0600), 0); /* reading it must not block */
        assert_int_equal(journal_read(boxes, "id", &reader, &learned, &gone), 0);
        assert_int_equal(unlinkat(boxes, "id/journal", 0), 0);
        assert_int_equal(unlinkat(boxes, "id", AT_REMOVEDIR), 0);
        (void)close(boxes);
        assert_int_equal(rmdir(directory), 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(cut_anywhere_it_is_a_beginning) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
