/* wire/command_test.c - what wire/command.h promises: what is written is what is read. */
#include "wire/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

enum { ROOM = 16 };

static const char *const argv[] = { "sh", "", "a b" }, *const env[] = { "A=1", "B=" };
static const struct wire_box_exec ask = { .exec = 7, .cpu_ms = 5 };

static void
what_is_written_is_read(void **state)
{
        const struct wire_command c = {
                { .flags = WIRE_EXEC_TTY, .argc = 3, .envc = 2, .rows = 24 }, argv, env, "/w"
        };
        static const char *const expected[] = { "sh", "", "a b", NULL, "A=1", "B=", NULL, "/w" };
        size_t len = wire_command_len(&c), rest = len - sizeof ask;
        char *message = malloc(len), *body = message + sizeof ask, *pointers[ROOM];
        struct wire_box_exec asked;
        struct wire_exec head;

        (void)state;
        assert_non_null(message);
        wire_command_write(&c, &ask, message);
        memcpy(&asked, message, sizeof asked);
        assert_memory_equal(&asked, &ask, sizeof ask);
        assert_int_equal(wire_command_read(body, rest, pointers, ROOM, &head), 0);
        assert_int_equal(head.exec, 7);
        assert_int_equal(head.flags, WIRE_EXEC_TTY);
        assert_int_equal(head.rows, 24);
        for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
                if (expected[i])
                        assert_string_equal(pointers[i], expected[i]);
                else
                        assert_null(pointers[i]);
        }
        assert_int_equal(wire_command_read(body, rest, NULL, 0, &head), 0);
        assert_int_equal(wire_command_read(body, rest, pointers, 7, &head), -E2BIG);
        assert_int_equal(wire_command_read(body, rest - 1, NULL, 0, &head), -EPROTO);
        head.argc++; /* one more than there are */
        memcpy(body, &head, sizeof head);
        assert_int_equal(wire_command_read(body, rest, NULL, 0, &head), -EPROTO);
        free(message);
}

static void
a_message_has_its_bounds(void **state)
{
        static char huge[WIRE_BODY_MAX];
        const char *words[] = { huge };
        struct wire_command c = { { .argc = 0 }, words, NULL, "/" };
        const size_t most = WIRE_BODY_MAX - sizeof ask - sizeof c.head - sizeof "/" - 1;

        (void)state;
        assert_int_equal(wire_command_len(&c), 0);
        c.head.argc = 1;
        memset(huge, 'x', most);
        assert_int_equal(wire_command_len(&c), WIRE_BODY_MAX);
        huge[most] = 'x';
        assert_int_equal(wire_command_len(&c), 0);
}

/* A command that the reader would refuse is not packed. */
static void
refuses_more_words_than_can_be_read(void **state)
{
        const char **words = calloc(WIRE_COMMAND_STRINGS_MAX + 1, sizeof *words);
        struct wire_command c = { { .argc = WIRE_COMMAND_STRINGS_MAX }, words, words, "/" };

        (void)state;
        assert_non_null(words);
        for (size_t i = 0; i <= WIRE_COMMAND_STRINGS_MAX; i++)
                words[i] = "";
        assert_true(wire_command_len(&c) > 0);
        c.head.argc++;
        assert_int_equal(wire_command_len(&c), 0);
        c.head.argc = 1;
        c.head.envc = WIRE_COMMAND_STRINGS_MAX + 1;
        assert_int_equal(wire_command_len(&c), 0);
        free(words);
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_written_is_read),
                cmocka_unit_test(a_message_has_its_bounds),
                cmocka_unit_test(refuses_more_words_than_can_be_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
