/* guest/command_test.c - guest/command.h: a message is complete, or refused. */
#include "base/unit.h"
#include "guest/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 16 };

#define TEXT(words) words, sizeof(words) - 1 /* the last NUL is written out if there is one */

struct message_row {
        const char *what;
        uint32_t argc, envc;
        const char *strings;
        size_t len;
        uint32_t lie; /* added to strings_len */
        int result;
};

static const struct message_row messages[] = {
        { "one word and a directory", 1, 0, TEXT("true\0/\0"), 0, 0 },
        { "words and an environment", 2, 2, TEXT("ls\0-l\0A=1\0B=2\0/w\0"), 0, 0 },
        { "empty words", 3, 1, TEXT("\0\0\0\0\0"), 0, 0 },
        { "as many as there is room for", 7, 6,
          TEXT("a\0b\0c\0d\0e\0f\0g\0A=\0B=\0C=\0D=\0E=\0F=\0/\0"), 0, 0 },
        { "one more than there is room for", 8, 6,
          TEXT("a\0b\0c\0d\0e\0f\0g\0h\0A=\0B=\0C=\0D=\0E=\0F=\0/\0"), 0, -E2BIG },
        { "no command", 0, 0, TEXT("/\0"), 0, -E2BIG },
        { "no command, but an environment", 0, 1, TEXT("A=1\0/\0"), 0, -E2BIG },
        { "more arguments than any", WIRE_COMMAND_STRINGS_MAX + 1, 0, TEXT("a\0/\0"), 0, -E2BIG },
        { "more environment than any", 1, WIRE_COMMAND_STRINGS_MAX + 1, TEXT("a\0/\0"), 0, -E2BIG },
        { "counts whose sum wraps", UINT32_MAX, 2, TEXT("a\0/\0"), 0, -E2BIG },
        { "the other count at its end", 1, UINT32_MAX, TEXT("a\0/\0"), 0, -E2BIG },
        { "no strings", 1, 0, "", 0, 0, -EPROTO },
        { "no directory", 1, 0, TEXT("true\0"), 0, -EPROTO },
        { "an argument is missing", 3, 0, TEXT("a\0b\0/\0"), 0, -EPROTO },
        { "the environment is missing", 1, 2, TEXT("a\0/\0"), 0, -EPROTO },
        { "a string too many", 1, 0, TEXT("true\0/\0more\0"), 0, -EPROTO },
        { "an empty string too many", 1, 0, TEXT("true\0/\0\0"), 0, -EPROTO },
        { "an environment that nobody counted", 1, 0, TEXT("true\0PATH=/evil\0/\0"), 0, -EPROTO },
        { "the last string does not end", 1, 0, TEXT("true\0/w"), 0, -EPROTO },
        { "nothing ends", 1, 0, TEXT("true"), 0, -EPROTO },
        { "a length past the message", 1, 0, TEXT("true\0/\0"), 1, -EPROTO },
        { "a length short of the message", 1, 0, TEXT("true\0/\0"), (uint32_t)-1, -EPROTO },
        { "a length that wraps", 1, 0, TEXT("true\0/\0"), UINT32_MAX - 6, -EPROTO },
};

/* A body with exactly its length, so that a sanitizer detects a read of one byte too many. */
static char *
body_of(const struct message_row *row, struct wire_message *ret)
{
        struct wire_exec head = { .argc = row->argc,
                                  .envc = row->envc,
                                  .strings_len = (uint32_t)row->len + row->lie };
        char *body = malloc(sizeof head + row->len);

        assert_non_null(body);
        memcpy(body, &head, sizeof head);
        memcpy(body + sizeof head, row->strings, row->len);
        *ret = (struct wire_message){ .kind = WIRE_EXEC, .len = sizeof head + row->len };
        return body;
}

static void
every_string_is_counted(const struct message_row *row, const struct command *c)
{
        const char *at = row->strings;

        for (uint32_t i = 0; i < row->argc; at += strlen(at) + 1, i++)
                assert_string_equal(c->argv[i], at);
        assert_null(c->argv[row->argc]);
        for (uint32_t i = 0; i < row->envc; at += strlen(at) + 1, i++)
                assert_string_equal(c->envp[i], at);
        assert_null(c->envp[row->envc]);
        assert_string_equal(c->cwd, at);
        assert_int_equal(c->group, -1);
}

static void
a_message_is_whole_or_refused(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
                char *pointers[ROOM + 1] = { [ROOM] = (char *)pointers };
                struct command c;
                struct wire_message m;
                char *body = body_of(&messages[i], &m);
                int result = command_read(&m, body, pointers, ROOM, &c);

                if (result != messages[i].result)
                        fail_msg("%s: %d, not %d", messages[i].what, result, messages[i].result);
                if (result == 0)
                        every_string_is_counted(&messages[i], &c);
                assert_ptr_equal(pointers[ROOM], pointers);
                free(body);
        }
}

static void
a_flag_of_tomorrow_is_refused(void **state)
{
        const struct message_row whole = { "", 1, 0, TEXT("ls\0/\0"), 0, 0 };
        struct wire_message m;
        char *body = body_of(&whole, &m), *pointers[ROOM];
        struct wire_exec head;
        struct command c;

        memcpy(&head, body, sizeof head);
        for (unsigned bit = 0; bit < 32; bit++) {
                head.flags = 1u << bit;
                memcpy(body, &head, sizeof head);
                assert_int_equal(command_read(&m, body, pointers, ROOM, &c),
                                 head.flags <= WIRE_EXEC_AS_CALLER ? 0 : -EPROTO);
        }
        free(body);
}

static void
a_cut_message_is_refused(void **state)
{
        const struct message_row whole = { "", 2, 1, TEXT("ls\0-l\0A=1\0/w\0"), 0, 0 };
        struct wire_message m;
        char *body = body_of(&whole, &m), *pointers[ROOM];
        struct command c;

        (void)state;
        assert_int_equal(command_read(&m, body, pointers, ROOM, &c), 0);
        for (size_t len = 0; len < m.len; len++) {
                struct wire_message cut = { .kind = WIRE_EXEC, .len = len };
                char *part = malloc(len + 1);

                assert_non_null(part);
                memcpy(part, body, len);
                if (command_read(&cut, part, pointers, ROOM, &c) == 0)
                        fail_msg("%zu of %zu bytes passed", len, m.len);
                free(part);
        }
        free(body);
}

static const struct {
        const char *strings;
        size_t len;
        uint32_t envc;
        const char *path;
} paths[] = {
        { TEXT("x\0/\0"), 0, "/usr/local/bin:/usr/bin:/bin" },
        { TEXT("x\0PATH=/a:/b\0/\0"), 1, "/a:/b" },
        { TEXT("x\0PATH=\0/\0"), 1, "" },
        { TEXT("x\0PATH=/a\0PATH=/b\0/\0"), 2, "/b" },
        { TEXT("x\0XPATH=/a\0PATHS=/b\0/\0"), 2, "/usr/local/bin:/usr/bin:/bin" },
        /* a command and a directory that look like PATH */
        { TEXT("PATH=/a\0PATH=/b\0"), 0, "/usr/local/bin:/usr/bin:/bin" },
};

static void
the_search_path_is_the_environments(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
                const struct message_row row = {
                        "", 1, paths[i].envc, paths[i].strings, paths[i].len, 0, 0
                };
                struct wire_message m;
                char *body = body_of(&row, &m), *pointers[ROOM];
                struct command c;

                assert_int_equal(command_read(&m, body, pointers, ROOM, &c), 0);
                assert_string_equal(c.path, paths[i].path);
                free(body);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_message_is_whole_or_refused),
                cmocka_unit_test(a_flag_of_tomorrow_is_refused),
                cmocka_unit_test(a_cut_message_is_refused),
                cmocka_unit_test(the_search_path_is_the_environments),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
