/* keeper/put_list_test.c - keeper/put_list.h: what an entry says of the files of a call. */
#include "base/unit.h"
#include "keeper/put_list.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/write_all.h"
#include "wire/box.h"
#include "wire/file.h"

static void
add(int fd, const char *path, uint32_t mode)
{
        const unsigned char sum[BOX_SUM_LEN] = { 0xab };
        struct wire_box_put put = { .bytes = 7,
                                    .mode = mode,
                                    .flags = mode != 0 ? FILE_PUT_MODE : 0,
                                    .path_len = (uint32_t)strlen(path) };

        assert_int_equal(write_all(fd, &put, sizeof put), 0);
        assert_int_equal(write_all(fd, path, strlen(path)), 0);
        if (put.path_len > 0)
                assert_int_equal(write_all(fd, sum, sizeof sum), 0);
}

static void
assert_says(int fd, bool is_whole, const char *expected)
{
        struct json_writer w;

        json_init(&w, false);
        json_open_map(&w);
        put_list_write(fd, is_whole, &w);
        json_close_map(&w);
        assert_false(w.is_broken);
        assert_string_equal(w.text, expected);
        json_fini(&w);
}

#define SUM "ab00000000000000000000000000000000000000000000000000000000000000"

static void
files_and_whether_all_came(void **state)
{
        int fd = memfd_create("list", MFD_CLOEXEC);

        (void)state;
        assert_says(-1, false, "{\"files\":[]}");
        assert_says(fd, true, "{\"files\":[],\"complete\":false}");
        add(fd, "/tmp/a", 0700);
        assert_says(fd, true,
                    "{\"files\":[{\"path\":\"/tmp/a\",\"mode\":448,\"bytes\":7,\"sha256\":\"" SUM
                    "\"}],\"complete\":false}");
        add(fd, "", 0);
        assert_says(fd, true,
                    "{\"files\":[{\"path\":\"/tmp/a\",\"mode\":448,\"bytes\":7,\"sha256\":\"" SUM
                    "\"}],\"complete\":true}");
        (void)close(fd);
}

/* A list that was cut says nothing of its end: nobody may take it for a call that changed nothing.
 */
static void
a_cut_list_does_not_say_that_it_is_not_complete(void **state)
{
        int fd = memfd_create("list", MFD_CLOEXEC);

        (void)state;
        add(fd, "a", 0);
        assert_int_equal(ftruncate(fd, 30), 0);
        assert_says(fd, false, "{\"files\":[]}");
        (void)close(fd);
}

static void
a_path_of_other_bytes_is_not_exact(void **state)
{
        int fd = memfd_create("list", MFD_CLOEXEC);
        struct json_writer w;

        (void)state;
        add(fd, "a\xff", 0);
        json_init(&w, false);
        json_open_map(&w);
        put_list_write(fd, true, &w);
        json_close_map(&w);
        assert_non_null(strstr(w.text, "\"exact\":false"));
        json_fini(&w);
        (void)close(fd);
}

static void
an_entry_names_a_bounded_number(void **state)
{
        int fd = memfd_create("list", MFD_CLOEXEC);
        struct json_writer w;

        (void)state;
        for (int i = 0; i < FILE_BATCH_MAX; i++)
                add(fd, "/tmp/name", 0);
        add(fd, "", 0);
        json_init(&w, false);
        json_open_map(&w);
        put_list_write(fd, true, &w);
        json_close_map(&w);
        assert_true(w.len < 2 * PUT_LIST_SHOWN);
        assert_non_null(strstr(w.text, "\"more\":"));
        assert_non_null(strstr(w.text, "\"complete\":true"));
        json_fini(&w);
        (void)close(fd);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(files_and_whether_all_came),
                cmocka_unit_test(a_cut_list_does_not_say_that_it_is_not_complete),
                cmocka_unit_test(a_path_of_other_bytes_is_not_exact),
                cmocka_unit_test(an_entry_names_a_bounded_number),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
