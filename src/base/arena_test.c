/* base/arena_test.c - what base/arena.h promises. */
#include "base/arena.h"
#include "base/unit.h"

#include <string.h>

static void
gives_zeroed_aligned_memory(void **state)
{
        struct arena a;

        (void)state;
        arena_init(&a, 1 << 20);
        for (size_t len = 1; len < 40000; len = len * 3 + 1) {
                unsigned char *p = arena_alloc(&a, len);

                assert_non_null(p);
                assert_int_equal((uintptr_t)p % 16, 0);
                for (size_t i = 0; i < len; i++)
                        assert_int_equal(p[i], 0);
                memset(p, 0xff, len);
        }
        arena_fini(&a);
}

/* Nothing that is lent is freed, and what does not fit is found elsewhere. */
static void
begins_in_memory_that_is_lent(void **state)
{
        static _Alignas(16) unsigned char room[256];
        struct arena a;
        unsigned char *inside, *outside;

        (void)state;
        arena_init_in(&a, 1 << 20, room, sizeof room);
        inside = arena_alloc(&a, 100);
        outside = arena_alloc(&a, 200);
        assert_true(inside > room && inside + 100 <= room + sizeof room);
        assert_int_equal((uintptr_t)inside % 16, 0);
        assert_non_null(outside);
        assert_true(outside + 200 <= room || outside >= room + sizeof room);
        memset(outside, 0xff, 200);
        arena_fini(&a);
        assert_null(a.chunks);
}

static void
stops_at_its_limit_for_good(void **state)
{
        struct arena a;

        (void)state;
        arena_init(&a, 100);
        assert_non_null(arena_alloc(&a, 90));
        assert_false(arena_is_full(&a));
        assert_null(arena_alloc(&a, 90));
        assert_true(arena_is_full(&a));
        assert_null(arena_alloc(&a, 1));
        arena_fini(&a);
        arena_init(&a, 100);
        assert_null(arena_alloc(&a, SIZE_MAX));
        arena_fini(&a);
        arena_fini(NULL);
}

static void
copies_bytes_and_formats(void **state)
{
        struct arena a;

        (void)state;
        arena_init(&a, 4096);
        assert_string_equal(arena_copy(&a, "abcdef", 3), "abc");
        assert_string_equal(arena_text(&a, "xyz"), "xyz");
        assert_string_equal(arena_format(&a, "%d-%s", 7, "q"), "7-q");
        arena_fini(&a);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(gives_zeroed_aligned_memory),
                cmocka_unit_test(begins_in_memory_that_is_lent),
                cmocka_unit_test(stops_at_its_limit_for_good),
                cmocka_unit_test(copies_bytes_and_formats),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
