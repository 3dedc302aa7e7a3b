/* wire/box_test.c - what wire/box.h promises of a command line's beginning. */
#include "wire/box.h"

#include <string.h>

#include "base/unit.h"

static void
words_are_joined_and_made_printable(void **state)
{
        char text[BOX_COMMAND_LEN] = { 0 };
        size_t len = box_command_add(text, 0, "sh");

        (void)state;
        len = box_command_add(text, len, "");
        len = box_command_add(text, len, "a\tb\x7f\n");
        assert_int_equal(len, strlen(text));
        assert_string_equal(text, "sh  a?b??");
}

static void
what_has_no_room_is_left_out(void **state)
{
        char word[BOX_COMMAND_LEN * 2 + 1];
        char text[BOX_COMMAND_LEN + 1] = { 0 };
        size_t len = 0;

        (void)state;
        memset(word, 'w', sizeof word - 1);
        word[sizeof word - 1] = '\0';
        text[BOX_COMMAND_LEN] = '!';
        for (size_t i = 0; i < 3; i++) {
                len = box_command_add(text, len, word);
                assert_int_equal(len, BOX_COMMAND_LEN - 1);
                assert_int_equal(strlen(text), BOX_COMMAND_LEN - 1);
                assert_int_equal(text[BOX_COMMAND_LEN], '!');
        }
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(words_are_joined_and_made_printable),
                cmocka_unit_test(what_has_no_room_is_left_out),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
