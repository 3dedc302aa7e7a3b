/*
 * base/byte_queue_test.c - bytes leave in the order in which they were added, whatever moves.
 */
#include "base/byte_queue.h"

#include <string.h>

#include "base/unit.h"

static void
first_in_first_out(void **state)
{
        struct bytes b = { 0 };
        unsigned char in = 0, out = 0;

        (void)state;
        for (int turn = 0; turn < 2000; turn++) {
                unsigned char piece[97];
                size_t len = (size_t)(turn * 31 % 97), gone = (size_t)(turn * 17 % 90);

                for (size_t i = 0; i < len; i++)
                        piece[i] = in++;
                assert_int_equal(bytes_put(&b, piece, len), 0);
                gone = gone < b.len ? gone : b.len;
                for (size_t i = 0; i < gone; i++)
                        assert_int_equal((unsigned char)b.at[b.first + i], out++);
                bytes_drop(&b, gone);
        }
        bytes_drop(&b, b.len);
        assert_null(b.at); /* an empty queue holds no memory */
}

static void
room_behind_the_last(void **state)
{
        struct bytes b = { 0 };
        char *room;

        (void)state;
        assert_int_equal(bytes_text(&b, "abc"), 0);
        bytes_drop(&b, 1);
        room = bytes_room(&b, 1000);
        assert_non_null(room);
        memset(room, 'x', 1000);
        b.len += 1000;
        assert_int_equal(b.len, 1002);
        assert_memory_equal(b.at + b.first, "bcx", 3);
        bytes_fini(&b);
        assert_int_equal(b.len, 0);
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(first_in_first_out),
                cmocka_unit_test(room_behind_the_last),
        };

        return cmocka_run_group_tests_name("base/byte_queue", tests, NULL, NULL);
}
