/* wire/file_test.c - what wire/file.h promises of a listing's entries. */
#include "wire/file.h"

#include <errno.h>
#include <string.h>

#include "base/unit.h"

enum { ROOM = 3 * FILE_PATH_MAX };

static size_t
put(char *bytes, size_t at, struct file_entry e, const char *texts)
{
        memcpy(bytes + at, &e, sizeof e);
        memcpy(bytes + at + sizeof e, texts, strlen(texts));
        return at + sizeof e + strlen(texts);
}

static void
entries_are_read_one_after_another(void **state)
{
        static char bytes[ROOM];
        struct file_listed l;
        size_t len, at = 0;

        (void)state;
        len = put(bytes, 0, (struct file_entry){ .kind = FILE_REGULAR, .path_len = 1, .size = 7 },
                  "a");
        len = put(bytes, len,
                  (struct file_entry){ .kind = FILE_LINK, .path_len = 2, .target_len = 3 },
                  "ln/to");
        len = put(bytes, len, (struct file_entry){ .kind = FILE_MORE, .path_len = 4 }, "6c6e");
        assert_int_equal(file_entry_next(bytes, len, &at, &l), 1);
        assert_int_equal(l.entry.size, 7);
        assert_memory_equal(l.path, "a", 1);
        assert_int_equal(file_entry_next(bytes, len, &at, &l), 1);
        assert_memory_equal(l.path, "ln", 2);
        assert_memory_equal(l.target, "/to", 3);
        assert_int_equal(file_entry_next(bytes, len, &at, &l), 1);
        assert_int_equal(l.entry.kind, FILE_MORE);
        assert_int_equal(at, len);
        assert_int_equal(file_entry_next(bytes, len, &at, &l), 0);
        assert_int_equal(at, len);
}

static void
a_part_of_an_entry_waits_for_the_rest(void **state)
{
        static char bytes[ROOM];
        struct file_listed l;
        size_t len = put(bytes, 0,
                         (struct file_entry){ .kind = FILE_LINK, .path_len = 2, .target_len = 3 },
                         "ln/to");

        (void)state;
        for (size_t part = 0; part < len; part++) {
                size_t at = 0;

                assert_int_equal(file_entry_next(bytes, part, &at, &l), 0);
                assert_int_equal(at, 0);
        }
}

static void
what_no_guest_writes_is_refused(void **state)
{
        static const struct file_entry rows[] = {
                { .kind = 0, .path_len = 1 },
                { .kind = FILE_CHARACTER + 1, .path_len = 1 },
                { .kind = FILE_MORE + 1, .path_len = 1 },
                { .kind = FILE_REGULAR, .path_len = 0 },
                { .kind = FILE_REGULAR, .path_len = FILE_PATH_MAX + 1 },
                { .kind = FILE_REGULAR, .path_len = UINT32_MAX, .target_len = UINT32_MAX },
                { .kind = FILE_LINK, .path_len = 1, .target_len = FILE_PATH_MAX + 1 },
                { .kind = FILE_MORE, .path_len = FILE_AFTER_MAX + 1 },
                { .kind = FILE_LINK, .path_len = 1, .target_len = 1 }, /* followed by two NULs */
        };
        static char bytes[ROOM];

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                struct file_listed l;
                size_t at = 0;

                memcpy(bytes, &rows[i], sizeof rows[i]);
                if (file_entry_next(bytes, sizeof bytes, &at, &l) != -EPROTO || at != 0)
                        fail_msg("row %zu", i);
        }
}

int
main(void)
{
        static const struct CMUnitTest tests[] = {
                cmocka_unit_test(entries_are_read_one_after_another),
                cmocka_unit_test(a_part_of_an_entry_waits_for_the_rest),
                cmocka_unit_test(what_no_guest_writes_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
