/*
 * egress/hosts_test.c - the lines of a hosts file.
 */
#include "egress/hosts.h"

#include <stdio.h>
#include <string.h>

#include "base/unit.h"

enum { ROOM = 4 };

static void
lines_become_names(void **state)
{
        static const char text[] =
                "\n# 10.0.0.9 comment\n10.0.0.1\tdb.corp DB2.Corp. # 10.0.0.9 other\r\n10.0.0.2 "
                "db.corp\n\t fd00::1   db.corp\n0.0.0.0 none.corp\n:: none.corp\n"
                "10.0.0.0/8 net.corp\nnonsense db.corp\nfe80::1%eth0 zone.corp\n10.0.0.3\n10.0.0.4 "
                "bad_-.corp- 10.0.0.5 good\n10.0.0.6 last";
        static const struct {
                const char *host;
                size_t count;
                uint8_t last[ROOM];
        } cases[] = {
                { "db.corp", 3, { 1, 2, 1 } }, { "db2.corp", 1, { 1 } },  { "good", 1, { 4 } },
                { "last", 1, { 6 } },          { "none.corp", 0, { 0 } }, { "net.corp", 0, { 0 } },
                { "zone.corp", 0, { 0 } },     { "comment", 0, { 0 } },   { "other", 0, { 0 } },
                { "nonsense", 0, { 0 } },      { "", 0, { 0 } },          { "zzz", 0, { 0 } },
        };
        struct arena arena;
        struct hosts h = { NULL, 0 };

        (void)state;
        arena_init(&arena, 1 << 20);
        assert_int_equal(hosts_find(&h, "db.corp", NULL, 0), 0);
        assert_int_equal(hosts_read(&arena, text, sizeof text - 1, &h), 0);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct egress_address found[ROOM];

                if (hosts_find(&h, cases[i].host, found, ROOM) != cases[i].count ||
                    hosts_find(&h, cases[i].host, NULL, 0) != (cases[i].count > 0))
                        fail_msg("%s", cases[i].host);
                for (size_t k = 0; k < cases[i].count; k++)
                        assert_int_equal(found[k].bytes[15], cases[i].last[k]);
        }
        assert_int_equal(hosts_find(&h, "db.corp", (struct egress_address[1]){ { { 0 } } }, 1), 1);
        arena_fini(&arena);
}

static void
what_is_too_much_is_left(void **state)
{
        static char text[HOSTS_NAMES_MAX * 24];
        struct arena arena, small;
        struct hosts h;
        size_t len = 0;

        (void)state;
        for (int i = 0; i < HOSTS_NAMES_MAX + 10; i++)
                len += (size_t)snprintf(text + len, sizeof text - len, "10.0.0.1 n%d\n", i);
        arena_init(&arena, 4 << 20);
        assert_int_equal(hosts_read(&arena, text, len, &h), 0);
        assert_int_equal(h.count, HOSTS_NAMES_MAX);
        assert_int_equal(hosts_find(&h, "n4095", NULL, 0), 1);
        assert_int_equal(hosts_find(&h, "n4096", NULL, 0), 0);
        arena_init(&small, 1024);
        assert_int_equal(hosts_read(&small, text, len, &h), -1);
        arena_fini(&small);
        arena_fini(&arena);
}

static void
any_bytes_are_read(void **state)
{
        char long_line[600];
        struct arena arena;
        struct hosts h;

        (void)state;
        memset(long_line, 'a', sizeof long_line);
        memcpy(long_line, "10.0.0.1 ", 9);
        arena_init(&arena, 1 << 20);
        assert_int_equal(hosts_read(&arena, long_line, sizeof long_line, &h), 0);
        assert_int_equal(h.count, 0);
        assert_int_equal(hosts_read(&arena, "10.0.0.1 a\0b c\n", 15, &h), 0);
        assert_int_equal(hosts_find(&h, "c", NULL, 0), 1);
        arena_fini(&arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(lines_become_names),
                cmocka_unit_test(what_is_too_much_is_left),
                cmocka_unit_test(any_bytes_are_read),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
