/*
 * base/buffer_test.c - what base/buffer.h promises.
 */
#include "base/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

static void
bytes_are_added_in_order_and_end_with_nul(void **state)
{
        struct buffer b = { 0 };

        for (size_t i = 0; i < 5000; i++) {
                char c = (char)('a' + i % 26);

                assert_int_equal(buffer_add(&b, &c, 1, 5000), 0);
                assert_true(b.len == i + 1 && b.bytes[i] == c && b.bytes[i + 1] == '\0');
        }
        for (size_t i = 0; i < 5000; i++)
                assert_int_equal(b.bytes[i], 'a' + (int)(i % 26));
        buffer_fini(&b);
        assert_true(!b.bytes && b.len == 0 && b.room == 0);
        buffer_fini(NULL);
}

static void
a_bound_is_kept_to_the_byte(void **state)
{
        struct buffer b = { 0 };

        assert_int_equal(buffer_add(&b, "abc", 3, 2), -E2BIG);
        assert_null(b.bytes);
        assert_int_equal(buffer_add(&b, "abc", 3, 3), 0);
        assert_int_equal(buffer_add(&b, NULL, 0, 3), 0);
        assert_int_equal(buffer_add(&b, "d", 1, 3), -E2BIG);
        assert_int_equal(buffer_add(&b, "d", 1, 2), -E2BIG);
        assert_int_equal(buffer_add(&b, "d", SIZE_MAX - 3, SIZE_MAX), -E2BIG);
        assert_string_equal(b.bytes, "abc");
        buffer_fini(&b);
}

static void
what_is_taken_is_the_callers(void **state)
{
        struct buffer b = { 0 };
        char *taken;

        assert_null(buffer_take(&b));
        assert_int_equal(buffer_add(&b, NULL, 0, 0), 0);
        taken = buffer_take(&b);
        assert_string_equal(taken, "");
        assert_true(!b.bytes && b.room == 0);
        free(taken);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(bytes_are_added_in_order_and_end_with_nul),
                cmocka_unit_test(a_bound_is_kept_to_the_byte),
                cmocka_unit_test(what_is_taken_is_the_callers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
