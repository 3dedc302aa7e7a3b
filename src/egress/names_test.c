/*
 * egress/names_test.c - an address never leads to another name than the one for which it was
 * issued.
 */
#include "egress/names.h"

#include <stdio.h>
#include <string.h>

#include "base/unit.h"
#include "wall/wall.h"

static struct egress_host
named(unsigned number)
{
        struct egress_host h;

        (void)snprintf(h.text, sizeof h.text, "n%u.test", number);
        return h;
}

static uint32_t
give(struct names *n, unsigned number, uint64_t now_ms, int *is_new, uint32_t *retired)
{
        struct egress_host h = named(number);

        return names_give(n, &h, now_ms, is_new, retired);
}

static const char *
found(struct names *n, uint32_t index, uint64_t now_ms)
{
        int is_retired;
        const struct egress_host *h = names_find(n, index, now_ms, &is_retired);

        return h ? h->text : is_retired ? "retired" : "none";
}

static void
a_name_keeps_its_index(void **state)
{
        struct names *n = names_new(4);
        int is_new;
        uint32_t retired, first = give(n, 1, 0, &is_new, &retired);

        assert_true(first == WALL_NAME_FIRST && is_new && retired == 0);
        assert_int_equal(give(n, 2, 0, &is_new, &retired), WALL_NAME_FIRST + 1);
        assert_int_equal(give(n, 1, 1ull << 40, &is_new, &retired), first);
        assert_false(is_new);
        assert_string_equal(found(n, first, 0), "n1.test");
        assert_string_equal(found(n, 0, 0), "none");
        assert_string_equal(found(n, WALL_GATE, 0), "none");
        assert_string_equal(found(n, WALL_NAME_FIRST + 2, 0), "none");
        assert_string_equal(found(n, UINT32_MAX, 0), "none");
        assert_int_equal(names_count(n), 2);
        names_free(n);
        names_free(NULL);
}

static void
idle_names_give_way_and_rest(void **state)
{
        struct names *n = names_new(2);
        int is_new;
        uint32_t retired;
        uint64_t idle = NAMES_IDLE_MS;

        (void)give(n, 1, 0, &is_new, &retired);
        (void)give(n, 2, 10, &is_new, &retired);
        assert_int_equal(give(n, 3, idle - 1, &is_new, &retired), 0);
        assert_true(!is_new && retired == 0 && names_count(n) == 2);
        assert_int_equal(give(n, 3, idle, &is_new, &retired), WALL_NAME_FIRST + 2);
        assert_true(is_new && retired == WALL_NAME_FIRST);
        assert_string_equal(found(n, WALL_NAME_FIRST, idle), "retired");
        assert_string_equal(names_was(n, WALL_NAME_FIRST)->text, "n1.test");
        assert_null(names_was(n, WALL_NAME_FIRST + 2));
        /* a use: it is no longer idle */
        assert_string_equal(found(n, WALL_NAME_FIRST + 1, idle), "n2.test");
        assert_int_equal(give(n, 4, idle + 20, &is_new, &retired), 0);
        names_free(n);
}

/*
 * Another name may get an index only after its quarantine; the one with the longest quarantine is
 * used first.
 */
static void
a_retired_index_rests(void **state)
{
        struct names *n = names_new(1);
        struct egress_host one = named(1), two = named(2), three = named(3);
        int is_new;
        uint32_t retired;

        assert_true(names_restore(n, 256, &one, 1, 5) == 0 &&
                    names_restore(n, 257, &two, 1, 0) == 0 &&
                    names_restore(n, 258, &three, 0, 0) == 0);
        assert_int_equal(give(n, 4, NAMES_IDLE_MS, &is_new, &retired), 0);
        assert_true(retired == 258 && !is_new && names_count(n) == 0);
        assert_int_equal(give(n, 4, NAMES_QUARANTINE_MS - 1, &is_new, &retired), 0);
        assert_int_equal(give(n, 4, NAMES_QUARANTINE_MS, &is_new, &retired), 257);
        assert_string_equal(found(n, 257, NAMES_QUARANTINE_MS), "n4.test");
        assert_int_equal(give(n, 5, NAMES_QUARANTINE_MS + NAMES_IDLE_MS, &is_new, &retired), 256);
        assert_int_equal(retired, 257);
        names_free(n);
}

static void
a_retired_name_comes_back_to_its_own(void **state)
{
        struct names *n = names_new(1);
        int is_new;
        uint32_t retired, first = give(n, 1, 0, &is_new, &retired);

        assert_int_equal(give(n, 2, NAMES_IDLE_MS, &is_new, &retired), first + 1);
        assert_int_equal(give(n, 1, 2 * NAMES_IDLE_MS, &is_new, &retired), first);
        assert_true(is_new && retired == first + 1 && names_count(n) == 1);
        assert_string_equal(found(n, first, 2 * NAMES_IDLE_MS), "n1.test");
        assert_string_equal(found(n, first + 1, 2 * NAMES_IDLE_MS), "retired");
        names_free(n);
}

static void
what_was_given_out_is_put_back(void **state)
{
        struct names *n = names_new(2);
        struct egress_host one = named(1), two = named(2), three = named(3), four = named(4),
                           none = { "" };
        int is_new;
        uint32_t retired;

        assert_int_equal(names_restore(n, 300, &one, 0, 0), 0);
        assert_int_equal(names_restore(n, 300, &one, 0, 0), 0);
        assert_int_equal(names_restore(n, 256, &two, 1, 0), 0);
        assert_int_equal(names_restore(n, 300, &three, 0, 0), -1);
        assert_int_equal(names_restore(n, 301, &one, 0, 0), -1);
        assert_int_equal(names_restore(n, 255, &three, 0, 0), -1);
        assert_int_equal(names_restore(n, 0, &three, 0, 0), -1);
        assert_int_equal(names_restore(n, UINT32_MAX, &three, 0, 0), -1);
        assert_int_equal(names_restore(n, 302, &none, 0, 0), -1);
        assert_int_equal(names_restore(n, 303, &three, 0, 0), 0);
        assert_int_equal(names_restore(n, 304, &four, 0, 0), -1);
        assert_int_equal(names_count(n), 2);
        assert_string_equal(found(n, 300, 0), "n1.test");
        assert_string_equal(found(n, 256, 0), "retired");
        assert_int_equal(names_restore(n, 300, &one, 1, 0), 0);
        assert_string_equal(found(n, 300, 0), "retired");
        assert_int_equal(names_count(n), 1);
        /* not one in quarantine, and not one in use */
        assert_int_equal(names_give(n, &four, 1, &is_new, &retired), 257);
        assert_int_equal(names_give(n, &none, 1, &is_new, &retired), 0);
        names_free(n);
}

/*
 * For any sequence of requests: an index that was issued for a name belongs to that name or to none
 * until its quarantine is over.
 */
static void
H21_no_index_changes_hands_early(void **state)
{
        enum { NAMES = 40, CAP = 12 };
        struct names *n = names_new(CAP);
        static struct {
                unsigned name;
                uint64_t last_ms;
        } held[NAMES_MAX * 2 + WALL_NAME_FIRST];
        uint64_t seed = 88172645463325252u, now_ms = 0;
        unsigned retirements = 0, moved = 0;

        for (int round = 0; round < 200000; round++) {
                unsigned number;
                int is_new;
                uint32_t index, retired;

                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                number = 1 + (unsigned)(seed % NAMES);
                now_ms += (seed >> 32) % 60000;
                index = give(n, number, now_ms, &is_new, &retired);
                retirements += retired != 0;
                assert_true(names_count(n) <= CAP);
                if (retired != 0)
                        held[retired].last_ms = now_ms;
                if (index == 0)
                        continue;
                if (held[index].name != 0 && held[index].name != number) {
                        assert_true(now_ms - held[index].last_ms >= NAMES_QUARANTINE_MS);
                        moved++;
                }
                held[index].name = number;
                held[index].last_ms = now_ms;
                assert_string_equal(found(n, index, now_ms), named(number).text);
        }
        assert_true(retirements > 1000 && moved > 100);
        names_free(n);
}

static void
the_largest_wall_is_bounded(void **state)
{
        struct names *n = names_new(1000000);
        int is_new;
        uint32_t retired, index = 1;

        for (unsigned i = 0; i < NAMES_MAX; i++)
                assert_int_not_equal(give(n, i, 0, &is_new, &retired), 0);
        assert_int_equal(give(n, NAMES_MAX, 0, &is_new, &retired), 0);
        for (unsigned i = 0; i < 2 * NAMES_MAX; i++)
                index = give(n, NAMES_MAX + i, (1 + i / NAMES_MAX) * (uint64_t)NAMES_IDLE_MS,
                             &is_new, &retired);
        assert_int_equal(index, WALL_NAME_FIRST + 3 * NAMES_MAX - 1);
        /* all indices are in use or in quarantine */
        assert_int_equal(give(n, 3 * NAMES_MAX, 3 * NAMES_IDLE_MS - 1, &is_new, &retired), 0);
        assert_int_not_equal(
                give(n, 3 * NAMES_MAX, NAMES_IDLE_MS + NAMES_QUARANTINE_MS, &is_new, &retired), 0);
        names_free(n);
}

static void
addresses_and_indices_are_the_same(void **state)
{
        static const struct {
                uint8_t address[16];
                uint32_t index;
        } cases[] = {
                { { [10] = 0xff, [11] = 0xff, [12] = 198, [13] = 18, [14] = 1, [15] = 0 }, 256 },
                { { [10] = 0xff, [11] = 0xff, [12] = 198, [13] = 19, [14] = 255, [15] = 255 },
                  0x1ffff },
                { { [10] = 0xff, [11] = 0xff, [12] = 198, [13] = 20, [14] = 1, [15] = 0 }, 0 },
                { { [10] = 0xff, [11] = 0xff, [12] = 198, [13] = 17, [14] = 1, [15] = 0 }, 0 },
                { { [10] = 0xff, [11] = 0xff, [12] = 198, [13] = 18, [14] = 0, [15] = 1 },
                  WALL_GATE },
                { { 0xfd, 0x63, 0x61, 0x72, 0x72, 0x65, 0x6c, 0, [14] = 1 }, 256 },
                { { 0xfd, 0x63, 0x61, 0x72, 0x72, 0x65, 0x6c, 0, [13] = 2 }, 0 },
                { { 0xfd, 0x63, 0x61, 0x72, 0x72, 0x65, 0x6c, 0, [8] = 1, [14] = 1 }, 0 },
                { { 0xfd, 0x63, 0x61, 0x72, 0x72, 0x65, 0x6c, 1, [14] = 1 }, 0 },
                { { [12] = 198, [13] = 18, [14] = 1 }, 0 },
                { { 0 }, 0 },
        };

        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                uint8_t again[16];

                if (names_index_of(cases[i].address) != cases[i].index)
                        fail_msg("case %zu: %u", i, names_index_of(cases[i].address));
                if (cases[i].index == 0)
                        continue;
                names_address_of(cases[i].index, cases[i].address[0] == 0xfd, again);
                assert_memory_equal(again, cases[i].address, 16);
        }
}

static void
one_that_is_idle_is_retired_by_its_index(void **state)
{
        struct names *n = names_new(2);
        struct egress_host a = { "a.test" }, b = { "b.test" };
        uint32_t index, retired;
        int is_new, is_retired;

        (void)state;
        assert_non_null(n);
        index = names_give(n, &a, 1000, &is_new, &retired);
        assert_true(names_give(n, &b, 5000, &is_new, &retired) != 0);
        assert_int_equal(names_idle_ms(n, index, 7000), 6000);
        assert_int_equal(names_idle_ms(n, index + 100, 7000), 0);
        assert_int_equal(names_idle_ms(n, 0, 7000), 0);
        names_retire(n, index, 7000);
        names_retire(n, index, 8000);
        names_retire(n, 0, 8000);
        assert_int_equal(names_count(n), 1);
        assert_int_equal(names_idle_ms(n, index, 9000), 0);
        assert_null(names_find(n, index, 9000, &is_retired));
        assert_true(is_retired);
        assert_int_equal(names_give(n, &a, 9000, &is_new, &retired), index);
        names_free(n);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_name_keeps_its_index),
                cmocka_unit_test(one_that_is_idle_is_retired_by_its_index),
                cmocka_unit_test(idle_names_give_way_and_rest),
                cmocka_unit_test(a_retired_index_rests),
                cmocka_unit_test(a_retired_name_comes_back_to_its_own),
                cmocka_unit_test(what_was_given_out_is_put_back),
                cmocka_unit_test(H21_no_index_changes_hands_early),
                cmocka_unit_test(the_largest_wall_is_bounded),
                cmocka_unit_test(addresses_and_indices_are_the_same),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
