/*
 * plan/net_only_test.c - the plan of `carrel gate` promises to take the network, and nothing else.
 */
#include <sched.h>
#include <stdio.h>

#include "base/unit.h"
#include "plan/plan.h"

enum { ARENA_MAX = 1 << 20, PORTS = 59 };

struct caller_row {
        uint32_t uid, gid;
        bool is_routed;
        const char *steps; /* in order */
        uint64_t namespaces;
};

static void
only_the_network_is_taken(void **state)
{
        static const struct caller_row rows[] = {
                { 0, 0, false, "spawn loopback wall bypasses net_caps hide ", CLONE_NEWNET },
                { 0, 7, true, "spawn loopback routed bypasses net_caps hide ", CLONE_NEWNET },
                { 1000, 100, false, "spawn map_uid map_gid loopback wall bypasses net_caps hide ",
                  CLONE_NEWNET | CLONE_NEWUSER },
        };

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct spec spec = { .wall = { true, rows[i].is_routed } };
                const struct plan_request request = { .id = "gate",
                                                      .outside_uid = rows[i].uid,
                                                      .outside_gid = rows[i].gid };
                const struct plan *plan;
                char steps[256] = "";
                struct arena arena;
                size_t len = 0;
                struct error e;

                arena_init(&arena, ARENA_MAX);
                assert_int_equal(plan_build_net_only(&arena, &spec, &request, &plan, &e), 0);
                for (size_t s = 0; s < plan->step_count; s++) {
                        len += (size_t)snprintf(steps + len, sizeof steps - len, "%s ",
                                                step_name(plan->steps[s].op));
                        if (plan->steps[s].op == STEP_MAP_UID)
                                assert_true(plan->steps[s].number == rows[i].uid &&
                                            plan->steps[s].number2 == rows[i].uid);
                        if (plan->steps[s].op == STEP_MAP_GID)
                                assert_true(plan->steps[s].number == rows[i].gid &&
                                            plan->steps[s].number2 == rows[i].gid);
                }
                assert_string_equal(steps, rows[i].steps);
                assert_int_equal(plan->steps[0].number, rows[i].namespaces);
                arena_fini(&arena);
        }
}

static void
more_ports_than_a_wall_has_are_refused(void **state)
{
        struct spec_egress egress[PORTS];
        const struct plan_request request = { .id = "gate" };
        const struct spec spec = { .egress = egress, .egress_count = PORTS };
        const struct plan *plan;
        struct arena arena;
        struct error e;

        for (size_t i = 0; i < PORTS; i++)
                egress[i] = (struct spec_egress){ .host = "a.example",
                                                  .ports = { (uint16_t)(100 + i) },
                                                  .port_count = 1 };
        arena_init(&arena, ARENA_MAX);
        assert_int_equal(plan_build_net_only(&arena, &spec, &request, &plan, &e), -1);
        assert_int_equal(e.code, ERROR_EGRESS_UNENFORCEABLE);
        assert_string_equal(e.reason, "too_many_ports");
        arena_fini(&arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(only_the_network_is_taken),
                cmocka_unit_test(more_ports_than_a_wall_has_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
