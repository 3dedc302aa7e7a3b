/* policy/host_limits_test.c - what policy/host_limits.h promises. */
#include "policy/host_limits.h"

#include <string.h>

#include "base/unit.h"
#include "spec/section.h"

static void
another_user_has_default_limits(void **state)
{
        struct host_limits l = host_limits_none();
        const struct host_limits none = l;
        struct spec_limits asked = none.each;
        const char *const held[] = { "memory_mb", "pids", "open_files", "disk_mb" };

        (void)state;
        l.each.pids = 7;
        l.sandboxes = 9;
        host_limits_of_others(&l);
        assert_int_equal(l.each.pids, 7);
        assert_int_equal(l.sandboxes, 9);
        assert_true(l.execs != SPEC_UNSET);
        for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
                uint64_t most;

                memcpy(&most, (const char *)&l.each + host_limits_find(held[i])->offset,
                       sizeof most);
                assert_true(most != SPEC_UNSET);
        }
        assert_true(host_limits_hold(&none, &none.each));
        asked.pids = 2000; /* a requested value: it is kept */
        host_limits_lower(&l, &asked);
        assert_int_equal(asked.memory_mb, l.each.memory_mb);
        assert_int_equal(asked.pids, 2000);
        assert_true(asked.cpu_ms == SPEC_UNSET);
}

static void
every_number_of_a_manifest_has_a_row(void **state)
{
        const struct host_limits none = host_limits_none();
        const struct field *row;
        const char *section;
        size_t count = 0;

        (void)state;
        for (; (row = host_limits_row(count, &section)) != NULL; count++) {
                struct host_limits l = host_limits_none();
                struct spec_limits asked = l.each;
                uint64_t one = row->min, more = row->min + 1;

                assert_ptr_equal(host_limits_find(row->name), row);
                memcpy((char *)&l.each + row->offset, &one, sizeof one);
                assert_true(host_limits_hold(&l, &l.each));
                asked = l.each;
                memcpy((char *)&asked + row->offset, &more, sizeof more);
                assert_false(host_limits_hold(&l, &asked));
                assert_false(host_limits_hold(&l, &none.each));
        }
        assert_int_equal(count, 10);
        assert_null(host_limits_find("pid"));
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(another_user_has_default_limits),
                cmocka_unit_test(every_number_of_a_manifest_has_a_row),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
