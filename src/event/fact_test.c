/*
 * event/fact_test.c - executions as events: words as a shell reads them, and malformed reports.
 */
#include "event/fact.h"

#include <string.h>

#include "base/unit.h"

static unsigned char body[4096];
static struct event_executed_texts texts;

/* `path` and `words` with their NULs. */
static size_t
write_report(uint32_t flags, const char *path, size_t path_len, const char *words, size_t words_len)
{
        const struct wire_box_executed head = { .exec = 3, .missed = 5 };
        const struct wire_executed x = { .pid = 7,
                                         .flags = flags,
                                         .argc = 2,
                                         .path_len = (uint32_t)path_len,
                                         .words_len = (uint32_t)words_len };
        size_t at = 0;

        memcpy(body, &head, sizeof head);
        memcpy(body + (at += sizeof head), &x, sizeof x);
        memcpy(body + (at += sizeof x), path, path_len);
        memcpy(body + (at += path_len), words, words_len);
        return at + words_len;
}

static void
words_are_written_for_a_shell(void **state)
{
        static const struct {
                const char *words;
                size_t len;
                const char *command;
        } rows[] = {
                { "ls\0-l", 6, "ls -l" },
                { "a b\0$x", 7, "'a b' '$x'" },
                { "\0a", 3, "'' a" },
                { "it's\0\\", 7, "$'it\\'s' '\\'" },
                { "\x1b[2J\n\xc3\xa9", 8, "$'\\x1b[2J\\x0a\\xc3\\xa9'" },
        };
        struct event e;

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                size_t len = write_report(0, "/bin/x", 7, rows[i].words, rows[i].len);

                assert_int_equal(event_of_executed(body, len, &texts, &e), 0);
                assert_string_equal(e.command, rows[i].command);
                assert_string_equal(e.path, "/bin/x");
                assert_int_equal(e.kind, EVENT_PROCESS_EXECUTED);
                assert_true(e.exec == 3 && e.pid == 7 && e.argc == 2 && texts.missed == 5);
                assert_null(e.reason);
        }
}

static void
the_longest_words_fit(void **state)
{
        static char path[WIRE_EXECUTED_PATH], words[WIRE_EXECUTED_WORDS];
        struct event e;
        size_t len;

        (void)state;
        memset(path, 1, sizeof path); /* a box that was taken over leaves the NUL out */
        for (size_t step = 1; step < 4; step++) {
                memset(words, 1, sizeof words);
                for (size_t i = 0; i < sizeof words; i += step)
                        words[i] = '\0';
                len = write_report(EXECUTED_CUT, path, sizeof path, words, sizeof words);
                assert_int_equal(event_of_executed(body, len, &texts, &e), 0);
                assert_string_equal(e.reason, "cut");
        }
}

static void
malformed_reports_are_none(void **state)
{
        struct wire_executed x;
        struct event e;
        size_t len = write_report(EXECUTED_UNREAD, "", 0, "", 0);

        (void)state;
        assert_int_equal(event_of_executed(body, len, &texts, &e), 0);
        assert_string_equal(e.reason, "unread");
        assert_true(!e.path && !e.command);
        assert_int_equal(event_of_executed(body, len - 1, &texts, &e), -1);
        assert_int_equal(event_of_executed(body, len + 1, &texts, &e), -1);
        memcpy(&x, body + sizeof(struct wire_box_executed), sizeof x);
        x.words_len = UINT32_MAX;
        memcpy(body + sizeof(struct wire_box_executed), &x, sizeof x);
        assert_int_equal(event_of_executed(body, len, &texts, &e), -1);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(words_are_written_for_a_shell),
                cmocka_unit_test(the_longest_words_fit),
                cmocka_unit_test(malformed_reports_are_none),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
