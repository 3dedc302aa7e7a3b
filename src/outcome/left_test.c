/* outcome/left_test.c - what outcome/left.h promises. */
#include "outcome/left.h"

#include <string.h>

#include "base/unit.h"
#include "wire/message.h"

static char message[LEFT_MESSAGE_ROOM], command[LEFT_COMMAND_ROOM];

static void
every_kind_has_a_word_and_a_sentence(void **state)
{
        (void)state;
        for (unsigned what = KEPT_MOVED; what < KEPT_WHAT_MAX; what++) {
                struct left_behind l = { what, "/w/n", "/k/n", "2" };

                assert_non_null(left_word(what));
                left_message(&l, message);
                assert_true(strlen(message) > strlen("/w/n "));
                assert_memory_equal(message, "/w/n ", 5);
        }
        assert_null(left_word(0));
        assert_null(left_word(KEPT_WHAT_MAX));
        left_message(&(struct left_behind){ KEPT_WHAT_MAX, "n", "", "" }, message);
        assert_string_equal(message, "");
}

static void
the_command_is_quoted_for_a_shell(void **state)
{
        const struct left_behind moved = { KEPT_MOVED, "/w/a'b $c", "/k/0/a'b $c", "" },
                                 link = { KEPT_GITLINK, "/w/s", "", "" },
                                 file = { KEPT_GITFILE, "/w/.git", "", "" };

        (void)state;
        left_message(&moved, message);
        assert_non_null(strstr(message, "Take it back with: mv '/k/0/a'\\''b $c' '/w/a'\\''b $c'"));
        left_look(&moved, command);
        assert_string_equal(command, "");
        left_look(&link, command);
        assert_string_equal(command, "cat -v '/w/s/.git/config'; ls -l '/w/s/.git/hooks'");
        left_look(&file, command);
        assert_string_equal(command, "ls -l '/w/.git'; cat -v '/w/.git'");
}

static void
lists_are_walked_line_by_line(void **state)
{
        const char *at = "b/.envrc\nc/.envrc";
        const struct left_behind l = { KEPT_PACKAGES, "/w/a/.envrc", at, "9" };
        char name[LEFT_NAME_ROOM];

        (void)state;
        assert_int_equal(left_count(&l), 9);
        assert_true(left_next(&at, name));
        assert_string_equal(name, "b/.envrc");
        assert_true(left_next(&at, name));
        assert_string_equal(name, "c/.envrc");
        assert_false(left_next(&at, name));
        left_message(&l, message);
        assert_non_null(strstr(message, "There are 9: this one, b/.envrc, c/.envrc."));
}

/* The longest texts of struct wire_kept, each byte one that grows most: it ends within the room. */
static void
the_longest_texts_fit_or_are_cut(void **state)
{
        struct wire_kept k = { .what = 0 };

        (void)state;
        memset(k.name, '\'', sizeof k.name - 1);
        memset(k.key, '\'', sizeof k.key - 1);
        for (size_t i = 0; i < sizeof k.kept - 1; i++)
                k.kept[i] = i % 2 == 0 ? 'a' : '\n';
        for (unsigned what = KEPT_MOVED; what < KEPT_WHAT_MAX; what++) {
                struct left_behind l = { what, k.name, k.kept, k.key };

                left_message(&l, message);
                assert_true(strlen(message) < sizeof message);
                left_look(&l, command);
                assert_true(strlen(command) < sizeof command);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_kind_has_a_word_and_a_sentence),
                cmocka_unit_test(the_command_is_quoted_for_a_shell),
                cmocka_unit_test(lists_are_walked_line_by_line),
                cmocka_unit_test(the_longest_texts_fit_or_are_cut),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
