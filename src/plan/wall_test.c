/* plan/wall_test.c - what plan/wall.h promises, and the plan's step for it. */
#include "base/unit.h"
#include "plan/wall.h"

#include <string.h>

#include "plan/plan.h"

static const struct spec_egress listed[] = {
        { .host = "web.example", .ports = { 80, 443 }, .port_count = 2 },
        { .host = "git.example", .ports = { 22 }, .port_count = 1 },
        { .host = "db.example", .ports = { 5432 }, .port_count = 1 },
        { .host = "mail.example", .ports = { 465 }, .port_count = 1 },
        { .host = "other.example", .ports = { 22 }, .port_count = 1 },
};

struct bench {
        struct arena arena;
        struct findings findings;
        const struct plan *plan;
};

static void
build_as(struct bench *b, size_t egress_count, struct spec_wall wall)
{
        static const struct spec_limits limits = { 30000,      SPEC_UNSET, SPEC_UNSET, SPEC_UNSET,
                                                   SPEC_UNSET, 1024,       SPEC_UNSET, SPEC_UNSET,
                                                   SPEC_UNSET, SPEC_UNSET };
        const struct spec spec = { .provider = "local",
                                   .egress = listed,
                                   .egress_count = egress_count,
                                   .wall = wall,
                                   .limits = limits,
                                   .egress_caps = { 5, SPEC_UNSET, 1000, SPEC_UNSET, SPEC_UNSET } };
        struct host_facts facts = { .has_user_ns = true,
                                    .has_seccomp = true,
                                    .has_mount_api = true,
                                    .landlock_abi = 4,
                                    .has_wall = true };
        const struct plan_request request = { .id = "0123456789abcdef",
                                              .outside_uid = 1001,
                                              .outside_gid = 1002 };
        struct error e;

        arena_init(&b->arena, 8 << 20);
        findings_init(&b->findings, &b->arena);
        if (plan_build(&b->arena, &spec, &facts, &request, &b->plan, &b->findings, &e) < 0)
                fail_msg("no plan: %s", e.message);
}

static void
build(struct bench *b, size_t egress_count)
{
        build_as(b, egress_count, (struct spec_wall){ false, false });
}

static const struct step *
find(const struct plan *plan, enum step_op op, const char *path)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == op && strcmp(plan->steps[i].path, path) == 0)
                        return &plan->steps[i];
        return NULL;
}

static const struct step *
must_find(const struct plan *plan, enum step_op op, const char *path)
{
        static const struct step none = { .path = "", .text = "", .why = "" };
        const struct step *found = find(plan, op, path);

        assert_non_null(found);
        return found ? found : &none;
}

static void
a_list_has_a_wall(void **state)
{
        struct bench b;
        const struct step *wall;

        (void)state;
        build(&b, 5);
        wall = must_find(b.plan, STEP_WALL, "");
        assert_null(find(b.plan, STEP_NO_NAMES, ""));
        assert_null(find(b.plan, STEP_LOW_PORTS, "")); /* the wall has the low ports */
        assert_int_equal(wall->number, 2);
        assert_string_equal(wall->text, "22 465");
        assert_non_null(strstr(wall->why, "; at most connections 5, bytes_out 1000"));
        assert_true(wall == must_find(b.plan, STEP_LOOPBACK, "") + 1);
        assert_string_equal(must_find(b.plan, STEP_FILE, "/etc/resolv.conf")->text,
                            "nameserver 198.18.0.1\n");
        arena_fini(&b.arena);
}

static void
without_a_list_no_name_exists(void **state)
{
        struct bench b;

        (void)state;
        build(&b, 0);
        assert_null(find(b.plan, STEP_WALL, ""));
        assert_non_null(strstr(must_find(b.plan, STEP_FILE, "/etc/resolv.conf")->text,
                               "\nnameserver 127.0.0.1\n"));
        assert_true(must_find(b.plan, STEP_NO_NAMES, "") ==
                    must_find(b.plan, STEP_LOOPBACK, "") + 1);
        /* pid 1 binds its port first */
        assert_true(must_find(b.plan, STEP_LOW_PORTS, "") ==
                    must_find(b.plan, STEP_NO_NAMES, "") + 1);
        arena_fini(&b.arena);
}

static void
a_wall_that_nothing_is_listed_for(void **state)
{
        struct bench b;

        (void)state;
        build_as(&b, 0, (struct spec_wall){ .is_given = true });
        assert_string_equal(must_find(b.plan, STEP_WALL, "")->text, "22");
        assert_string_equal(must_find(b.plan, STEP_FILE, "/etc/resolv.conf")->text,
                            "nameserver 198.18.0.1\n");
        arena_fini(&b.arena);
}

static void
a_routed_wall_has_its_own_step_and_a_stock(void **state)
{
        struct bench b;
        const struct step *wall;

        (void)state;
        build_as(&b, 5, (struct spec_wall){ .is_given = true, .is_routed = true });
        wall = must_find(b.plan, STEP_ROUTED, "");
        assert_int_equal(wall->number, 2);
        assert_int_equal(wall->number2, 1 + PLAN_WALL_SPARE);
        assert_string_equal(wall->text, "22 465");
        assert_null(find(b.plan, STEP_WALL, ""));
        arena_fini(&b.arena);
}

/* Many names with `count` different ports, starting at 1024. */
static void
a_stock_has_an_end(void **state)
{
        static const struct {
                size_t count, stock;
        } cases[] = { { 0, PLAN_WALL_SPARE },
                      { 10, 10 + PLAN_WALL_SPARE },
                      { WALL_STOCK_MAX - 1, WALL_STOCK_MAX },
                      { WALL_STOCK_MAX, WALL_STOCK_MAX },
                      { WALL_STOCK_MAX + 1, WALL_STOCK_MAX + 1 } };
        struct spec_egress entries[2 * (WALL_STOCK_MAX + 1)];

        (void)state;
        for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
                entries[i] = (struct spec_egress){ .host = "a.example",
                                                   .ports = { (uint16_t)(1024 + i / 2) },
                                                   .port_count = 1 };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const struct spec spec = { .egress = entries, .egress_count = 2 * cases[i].count };
                size_t at = 0;

                assert_int_equal(plan_wall_stock(&spec, &at), cases[i].stock);
                assert_int_equal(at, cases[i].stock > WALL_STOCK_MAX ? 2 * WALL_STOCK_MAX
                                     : cases[i].count > 0            ? 2 * cases[i].count - 2
                                                                     : 0);
        }
}

static void
each_port_once(void **state)
{
        const struct spec spec = { .egress = listed, .egress_count = 5 };
        uint16_t ports[PLAN_WALL_PORTS];

        (void)state;
        assert_int_equal(plan_wall_ports(&spec, ports, NULL), 2);
        assert_int_equal(ports[0], 22);
        assert_int_equal(ports[1], 465);
        assert_true(plan_wall_has(ports, 2, 465) && !plan_wall_has(ports, 2, 443));
}

/* A request for it without a list entry is reported; listed entries come first. */
static void
ssh_is_listened_to_where_there_is_room(void **state)
{
        struct spec_egress entries[PLAN_WALL_PORTS + 1];
        struct spec spec = { .egress = entries };
        uint16_t ports[PLAN_WALL_PORTS];

        (void)state;
        for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
                entries[i] = (struct spec_egress){ .host = "a.example",
                                                   .ports = { (uint16_t)(100 + i) },
                                                   .port_count = 1 };
        assert_int_equal(plan_wall_ports(&spec, ports, NULL), 1);
        assert_int_equal(ports[0], WALL_SSH);
        spec.egress_count = PLAN_WALL_PORTS - 1;
        assert_int_equal(plan_wall_ports(&spec, ports, NULL), PLAN_WALL_PORTS);
        assert_int_equal(ports[PLAN_WALL_PORTS - 1], WALL_SSH);
        spec.egress_count = PLAN_WALL_PORTS;
        assert_int_equal(plan_wall_ports(&spec, ports, NULL), PLAN_WALL_PORTS);
        assert_false(plan_wall_has(ports, PLAN_WALL_PORTS, WALL_SSH));
        spec.egress_count = PLAN_WALL_PORTS + 1;
        assert_int_equal(plan_wall_ports(&spec, ports, NULL), PLAN_WALL_PORTS + 1);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_list_has_a_wall),
                cmocka_unit_test(without_a_list_no_name_exists),
                cmocka_unit_test(each_port_once),
                cmocka_unit_test(ssh_is_listened_to_where_there_is_room),
                cmocka_unit_test(a_wall_that_nothing_is_listed_for),
                cmocka_unit_test(a_routed_wall_has_its_own_step_and_a_stock),
                cmocka_unit_test(a_stock_has_an_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
