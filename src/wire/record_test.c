/* wire/record_test.c - records are read as they were written, and damaged ones are refused. */
#include "wire/record.h"

#include <string.h>

#include "base/unit.h"

static _Alignas(8) unsigned char bytes[512];

static struct record
sample(void)
{
        struct record_writer w;
        size_t mark;

        record_init(&w, bytes, sizeof bytes);
        record_uint(&w, 1, 7);
        record_text(&w, 2, "abc");
        record_text(&w, 2, "");
        mark = record_open(&w, 3);
        record_int(&w, 4, -1);
        record_bool(&w, 5, 1);
        record_close(&w, mark);
        assert_false(w.is_broken);
        return (struct record){ bytes, w.len };
}

static void
what_is_written_is_read(void **state)
{
        struct record r = sample(), inner;
        struct record_entry e;
        size_t at = 0;

        assert_int_equal(record_check(&r), 0);
        assert_int_equal(record_get_uint(&r, 1, 0), 7);
        assert_string_equal(record_get_text(&r, 2, "x"), "abc");
        assert_int_equal(record_next(&r, &at, &e), 1);
        assert_int_equal(record_next(&r, &at, &e), 1);
        assert_int_equal(record_next(&r, &at, &e), 1);
        assert_string_equal(e.value, "");
        inner = record_get_nested(&r, 3);
        assert_int_equal(record_get_int(&inner, 4, 0), -1);
        assert_true(record_get_bool(&inner, 5, 0));
        assert_int_equal(record_get_uint(&r, 2, 9), 9); /* of another type */
}

static void
every_cut_is_refused_or_whole(void **state)
{
        struct record r = sample();
        size_t whole = r.len;

        for (r.len = 1; r.len < whole; r.len++)
                if (r.len % RECORD_ALIGN != 0)
                        assert_int_equal(record_check(&r), -1);
}

static void
lies_are_refused(void **state)
{
        struct record r = sample();

        bytes[4] = 200; /* the first entry claims to be longer than the record */
        assert_int_equal(record_check(&r), -1);
        r = sample();
        bytes[2] = RECORD_TYPE_MAX;
        assert_int_equal(record_check(&r), -1);
        r = sample();
        bytes[16 + 8 + 3] = 'd'; /* a text without its NUL */
        assert_int_equal(record_check(&r), -1);
}

static void
what_does_not_fit_breaks_the_writer(void **state)
{
        struct record_writer w;

        record_init(&w, bytes, 24);
        record_uint(&w, 1, 1);
        record_text(&w, 2, "too long to fit here");
        assert_true(w.is_broken);
        assert_int_equal(w.len, 16);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_written_is_read),
                cmocka_unit_test(every_cut_is_refused_or_whole),
                cmocka_unit_test(lies_are_refused),
                cmocka_unit_test(what_does_not_fit_breaks_the_writer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
