/* policy/day_count_test.c - promises of policy/day_count.h: clocks, parts, and what is left. */
#include "policy/day_count.h"

#include <string.h>

#include "base/unit.h"

enum { HOUR = 3600 * 1000 };

#define DAY ((uint64_t)DAY_COUNT_DAY_MS)
#define NOON (20000 * DAY + 12 * HOUR)

static void
no_setting_of_a_clock_gives_bytes_back(void **state)
{
        /* as of noon, when the boot clock was 1 h and 5 bytes were taken */
        static const struct {
                const char *what, *boot_id;
                uint64_t wall_ms, boot_ms, bytes, day;
        } rows[] = {
                { "an hour later", "a", NOON + HOUR, 2 * HOUR, 5, 20000 },
                { "a day later", "a", NOON + DAY, HOUR + DAY, 0, 20001 },
                { "at midnight", "a", NOON + 12 * HOUR, 13 * HOUR, 0, 20001 },
                { "just before", "a", NOON + 12 * HOUR - 1, 13 * HOUR - 1, 5, 20000 },
                { "set forward by a day", "a", NOON + DAY, HOUR, 5, 20000 },
                { "set forward by a year", "a", NOON + 365 * DAY, HOUR + 1, 5, 20000 },
                { "set back by a day", "a", NOON - DAY, 2 * HOUR, 5, 20000 },
                { "set back, and a day passed", "a", NOON - DAY, HOUR + DAY, 0, 20001 },
                { "booted an hour later", "b", NOON + HOUR, 0, 5, 20000 },
                { "booted a day later", "b", NOON + DAY, 0, 0, 20001 },
                { "booted with a clock of 1970", "b", 0, 0, 5, 20000 },
                { "booted with a clock of yesterday", "b", NOON - DAY, 99 * HOUR, 5, 20000 },
        };

        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct day_now first = { NOON, HOUR, "a" },
                                     then = { rows[i].wall_ms, rows[i].boot_ms, rows[i].boot_id };
                struct day_count c = day_count_first(&first);

                assert_int_equal(c.day, 20000);
                c.bytes = 5;
                day_count_look(&c, &then);
                if (c.bytes != rows[i].bytes || c.day != rows[i].day)
                        fail_msg("%s: %llu bytes, day %llu", rows[i].what,
                                 (unsigned long long)c.bytes, (unsigned long long)c.day);
                day_count_look(&c, &then);
                assert_int_equal(c.bytes, rows[i].bytes);
                assert_true(day_count_end_ms(&c) - then.boot_ms <= DAY);
        }
}

static void
the_end_of_the_day_is_told_by_the_boot_clock(void **state)
{
        const struct day_now first = { NOON, HOUR, "a" }, set = { NOON + DAY, 3 * HOUR, "a" };
        struct day_count c = day_count_first(&first);

        (void)state;
        assert_int_equal(day_count_end_ms(&c), 13 * HOUR);
        day_count_look(&c, &set);
        assert_int_equal(day_count_end_ms(&c), 13 * HOUR);
}

static void
parts_add_up_to_the_limit_and_no_more(void **state)
{
        static const uint64_t limits[] = { 0, 1, 63, 64, 65, 1000, 1 << 20, (uint64_t)1 << 34 };

        (void)state;
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
                struct day_count c = { .day = 1 };
                uint64_t sum = 0, part;

                while ((part = day_count_take(&c, limits[i])) > 0) {
                        assert_true(part <= limits[i] / DAY_COUNT_PARTS + 1 &&
                                    part <= DAY_COUNT_PART_MAX);
                        sum += part;
                }
                assert_true(sum == limits[i] && c.bytes == limits[i]);
                /* a limit that was lowered meanwhile */
                assert_int_equal(day_count_take(&c, limits[i] / 2), 0);
        }
}

static void
what_was_not_sent_is_given_back_once_and_of_its_day(void **state)
{
        struct day_count c = { .day = 7 };

        (void)state;
        assert_int_equal(day_count_take(&c, 640), 10);
        day_count_give(&c, 7, 4);
        assert_int_equal(c.bytes, 6);
        day_count_give(&c, 6, 4);
        day_count_give(&c, 8, 4);
        assert_int_equal(c.bytes, 6);
        day_count_give(&c, 7, 100);
        assert_int_equal(c.bytes, 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(no_setting_of_a_clock_gives_bytes_back),
                cmocka_unit_test(the_end_of_the_day_is_told_by_the_boot_clock),
                cmocka_unit_test(parts_add_up_to_the_limit_and_no_more),
                cmocka_unit_test(what_was_not_sent_is_given_back_once_and_of_its_day),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
