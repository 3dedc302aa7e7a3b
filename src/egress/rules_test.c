/*
 * egress/rules_test.c - a search of the list gives the same result as a walk over all entries.
 */
#include "egress/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

enum { ENTRIES = 48, HOSTS = 64, ROUNDS = 3000, PORTS_ROOM = 16 };

static struct spec_egress entries[ENTRIES];
static char names[ENTRIES][64];

static uint64_t
next(uint64_t *seed)
{
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        return *seed;
}

/* Few different labels, some of them prefixes of others, so that names match. */
static void
random_host(uint64_t *seed, char *ret)
{
        static const char *const labels[] = { "a", "ab", "a-b", "a_b",  "b",
                                              "0", "b-", "com", "test", "xn--a" };
        unsigned count = 1 + (unsigned)(next(seed) % 5);

        ret[0] = '\0';
        for (unsigned i = 0; i < count; i++)
                (void)snprintf(ret + strlen(ret), 16, "%s%s", i > 0 ? "." : "",
                               labels[next(seed) % 10]);
}

static size_t
random_list(uint64_t *seed)
{
        static const uint16_t ports[] = { 22, 5432, 80, 8080 };
        size_t count = (size_t)(next(seed) % (ENTRIES + 1));

        for (size_t i = 0; i < count; i++) {
                bool is_plain = next(seed) % 2 == 0;

                random_host(seed, names[i]);
                entries[i] = (struct spec_egress){ .host = names[i],
                                                   .is_wildcard = next(seed) % 2 == 0,
                                                   .port_count = is_plain ? 2 : 1,
                                                   .ports = { is_plain ? 80 : ports[next(seed) % 4],
                                                              is_plain ? 443 : 0 } };
        }
        return count;
}

static bool
names_it(const struct spec_egress *e, const char *host, uint16_t port)
{
        return egress_allows(e, 1, host, port);
}

static int
walk(size_t count, const char *host, uint16_t port)
{
        for (size_t i = 0; i < count; i++)
                if (names_it(&entries[i], host, port))
                        return (int)i;
        return -1;
}

static bool
walk_below(size_t count, const char *host)
{
        size_t len = strlen(host);

        for (size_t i = 0; i < count; i++) {
                const char *name = entries[i].host;
                size_t name_len = strlen(name);

                if (name_len == len ? entries[i].is_wildcard && strcmp(name, host) == 0
                                    : name_len > len && name[name_len - len - 1] == '.' &&
                                              strcmp(name + name_len - len, host) == 0)
                        return true;
        }
        return false;
}

static void
check_ports(const struct rules *r, size_t count, const char *host)
{
        uint16_t ports[PORTS_ROOM], want[PORTS_ROOM];
        size_t got = rules_ports(r, host, ports, PORTS_ROOM), wanted = 0;

        for (size_t i = 0; i < count; i++)
                for (size_t k = 0; k < entries[i].port_count && names_it(&entries[i], host, 0);
                     k++) {
                        bool is_there = false;

                        for (size_t n = 0; n < wanted; n++)
                                is_there |= want[n] == entries[i].ports[k];
                        if (!is_there)
                                want[wanted++] = entries[i].ports[k];
                }
        assert_int_equal(got, wanted);
        for (size_t i = 0; i < got; i++)
                assert_int_equal(ports[i], want[i]);
        if (got > 1)
                assert_int_equal(rules_ports(r, host, ports, 1), 1);
}

static void
searching_agrees_with_walking(void **state)
{
        static const uint16_t ports[] = { 0, 22, 80, 443, 5432, 9 };
        uint64_t seed = 0x9e3779b97f4a7c15u;
        char host[64];

        (void)state;
        for (int round = 0; round < ROUNDS; round++) {
                size_t count = random_list(&seed);
                struct arena arena;
                struct rules r;

                arena_init(&arena, 1 << 20);
                assert_int_equal(rules_make(&arena, entries, count, &r), 0);
                for (int i = 0; i < HOSTS; i++) {
                        uint16_t port = ports[next(&seed) % 6];
                        char canonical[EGRESS_HOST_MAX + 1];

                        random_host(&seed, host);
                        if (!egress_host_read(host, canonical))
                                continue;
                        if (rules_find(&r, host, port) != walk(count, host, port))
                                fail_msg("round %d: %s:%u: %d, walked %d", round, host, port,
                                         rules_find(&r, host, port), walk(count, host, port));
                        if (rules_are_below(&r, host) != walk_below(count, host))
                                fail_msg("round %d: below %s", round, host);
                        check_ports(&r, count, host);
                }
                arena_fini(&arena);
        }
}

static void
the_ends(void **state)
{
        static const struct rules none;
        char long_name[EGRESS_HOST_MAX + 1];
        struct spec_egress one = {
                .host = long_name, .is_wildcard = true, .ports = { 80, 443 }, .port_count = 2
        };
        struct arena arena;
        struct rules r;

        (void)state;
        assert_int_equal(rules_find(&none, "a.test", 0), -1);
        assert_false(rules_are_below(&none, "test"));
        for (size_t i = 0; i < EGRESS_HOST_MAX; i++)
                long_name[i] = i % 2 == 0 ? 'a' : '.';
        long_name[EGRESS_HOST_MAX] = '\0';
        arena_init(&arena, 1 << 20);
        assert_int_equal(rules_make(&arena, &one, 1, &r), 0);
        assert_int_equal(rules_find(&r, long_name, 443), -1);
        assert_true(rules_are_below(&r, long_name));
        assert_true(rules_are_below(&r, long_name + 2));
        one.is_wildcard = false;
        assert_int_equal(rules_make(&arena, &one, 1, &r), 0);
        assert_int_equal(rules_find(&r, long_name, 443), 0);
        assert_int_equal(rules_find(&r, "", 443), -1);
        assert_false(rules_are_below(&r, ""));
        arena_fini(&arena);
        arena_init(&arena, 16);
        assert_int_equal(rules_make(&arena, &one, 1, &r), -1);
        arena_fini(&arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(searching_agrees_with_walking),
                cmocka_unit_test(the_ends),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
