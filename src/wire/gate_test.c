/* wire/gate_test.c - what the packing of wire/gate.h promises. */
#include "base/unit.h"
#include "wire/gate.h"

#include <string.h>

static _Alignas(8) char body[GATE_POLICY_MAX];

static void
a_config_is_its_texts(void **state)
{
        static const char *const resolvers[] = { "127.0.0.1:5300" }, *const networks[] = {
                "10.0.0.0/8", "fd00::/8"
        };
        const struct wire_gate_config *head = (const void *)body;
        size_t len = wire_gate_config(body, sizeof body, resolvers, 1, networks, 2);

        (void)state;
        assert_int_equal(len, sizeof *head + 15 + 11 + 9);
        assert_int_equal(head->resolvers, 1);
        assert_int_equal(head->networks, 2);
        assert_int_equal(head->texts_len, 35);
        assert_string_equal(body + sizeof *head + 15, "10.0.0.0/8");
        assert_int_equal(wire_gate_config(body, sizeof *head + 34, resolvers, 1, networks, 2), 0);
        assert_int_equal(wire_gate_config(body, sizeof body, NULL, 0, NULL, 0), sizeof *head);
}

static void
a_policy_is_texts_and_listeners(void **state)
{
        static const char *const allow[] = { "a.example", "*.b.example:5432" },
                                 *const private_names[] = { "db.internal" };
        static const struct wall_listener listeners[] = { { .port = 22 },
                                                          { .port = 5432, .index = 300 } };
        const struct wire_gate_policy wanted = { .wall = 7, .generation = 3, .id = "0123" };
        const struct wire_gate_policy *head = (const void *)body;
        size_t texts = 10 + 17 + 12, at = (sizeof *head + texts + 7) / 8 * 8;

        (void)state;
        assert_int_equal(wire_gate_policy(body, sizeof body, &wanted, allow, 2, private_names, 1,
                                          listeners, 2),
                         at + sizeof listeners);
        assert_int_equal(head->wall, 7);
        assert_int_equal(head->allow, 2);
        assert_int_equal(head->private_names, 1);
        assert_int_equal(head->listeners, 2);
        assert_int_equal(head->texts_len, texts);
        assert_string_equal(head->id, "0123");
        assert_string_equal(body + sizeof *head + 10, "*.b.example:5432");
        assert_memory_equal(body + at, listeners, sizeof listeners);
        assert_int_equal(wire_gate_policy(body, sizeof body, &wanted, allow, 2, NULL, 0, NULL, 0),
                         (sizeof *head + 27 + 7) / 8 * 8);
        for (size_t room = 0; room < at + sizeof listeners; room++)
                assert_int_equal(wire_gate_policy(body, room, &wanted, allow, 2, private_names, 1,
                                                  listeners, 2),
                                 0);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_config_is_its_texts),
                cmocka_unit_test(a_policy_is_texts_and_listeners),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
