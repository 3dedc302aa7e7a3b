/* plan/refuse_test.c - what plan/refuse.h promises. */
#include "base/unit.h"
#include "plan/refuse.h"

#include <string.h>

#include "plan/wall.h"

static void
fill(struct host_facts *facts)
{
        memset(facts, 0, sizeof *facts);
        facts->has_user_ns = facts->has_seccomp = facts->has_mount_api = true;
        facts->landlock_abi = 1;
        facts->dirs[0].path = "/usr";
        facts->dirs[1].path = "/bin";
        facts->dir_count = 2;
}

static void
a_host_that_cannot_isolate(void **state)
{
        static const struct {
                size_t offset, len;
                const char *reason;
        } rows[] = {
                { offsetof(struct host_facts, has_user_ns), sizeof(bool), "user_namespaces" },
                { offsetof(struct host_facts, has_seccomp), sizeof(bool), "seccomp" },
                { offsetof(struct host_facts, has_mount_api), sizeof(bool), "mount_api" },
                { offsetof(struct host_facts, landlock_abi), sizeof(unsigned), "landlock" },
        };
        const struct spec spec = { .provider = "local" };
        const struct plan_request request = { .mount_count = 0 };
        struct host_facts facts;
        struct error e;

        (void)state;
        fill(&facts);
        assert_int_equal(plan_refuse(&spec, &facts, &request, &e), 0);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                fill(&facts);
                memset((char *)&facts + rows[i].offset, 0, rows[i].len);
                assert_int_equal(plan_refuse(&spec, &facts, &request, &e), -1);
                assert_int_equal(e.code, ERROR_CAPABILITY_UNAVAILABLE);
                assert_string_equal(e.reason, rows[i].reason);
                assert_true(e.hint[0] != '\0');
        }
}

static void
a_mount_over_what_a_box_is_made_of(void **state)
{
        static const struct {
                const char *at;
                int result;
        } rows[] = {
                { "/usr", -1 },           { "/etc", -1 },    { "/bin", -1 },       { "/home", -1 },
                { "/usr/share/data", 0 }, { "/etc/app", 0 }, { "/home/agent", 0 }, { "/tmp", 0 },
                { "/usrlocal", 0 },
        };
        const struct spec spec = { .provider = "local" };
        struct host_facts facts;
        struct error e;

        (void)state;
        fill(&facts);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct plan_mount mount = { .at = rows[i].at };
                const struct plan_request request = { .mounts = &mount, .mount_count = 1 };

                if (plan_refuse(&spec, &facts, &request, &e) != rows[i].result)
                        fail_msg("%s", rows[i].at);
                if (rows[i].result == 0)
                        continue;
                assert_int_equal(e.code, ERROR_MOUNT_INVALID);
                assert_string_equal(e.reason, "reserved");
                assert_string_equal(e.path, "mounts/0/at");
        }
}

static void
a_list_that_it_cannot_hold_to(void **state)
{
        const struct spec_egress egress[2] = { { .host = "a.example", .line = 7, .column = 9 },
                                               { .host = "b.example" } };
        const struct spec spec = { .provider = "local", .egress = egress, .egress_count = 2 };
        const struct plan_request request = { .mount_count = 0 };
        struct host_facts facts;
        struct error e;

        (void)state;
        fill(&facts);
        assert_int_equal(plan_refuse(&spec, &facts, &request, &e), -1);
        assert_int_equal(e.code, ERROR_EGRESS_UNENFORCEABLE);
        assert_string_equal(e.path, "network/egress");
        assert_string_equal(e.reason, "no_wall");
        assert_int_equal(e.line, 7);
        assert_int_equal(e.column, 9);
        facts.has_wall = true;
        assert_int_equal(plan_refuse(&spec, &facts, &request, &e), 0);
}

static void
more_ports_than_a_wall_holds(void **state)
{
        struct spec_egress egress[PLAN_WALL_PORTS + 3];
        struct spec spec = { .provider = "local", .egress = egress };
        const struct plan_request request = { .mount_count = 0 };
        struct host_facts facts;
        struct error e;

        (void)state;
        fill(&facts);
        facts.has_wall = true;
        egress[0] = (struct spec_egress){ .host = "web.example",
                                          .ports = { 80, 443 },
                                          .port_count = 2 };
        egress[1] =
                (struct spec_egress){ .host = "db.example", .ports = { 5432 }, .port_count = 1 };
        for (uint16_t i = 2; i < PLAN_WALL_PORTS + 3; i++)
                egress[i] = (struct spec_egress){ .host = "low.example",
                                                  .ports = { (uint16_t)(598 + i) },
                                                  .port_count = 1,
                                                  .line = i,
                                                  .item = i,
                                                  .column = 3 };
        spec.egress_count = PLAN_WALL_PORTS + 2;
        assert_int_equal(plan_refuse(&spec, &facts, &request, &e), 0);
        spec.egress_count = PLAN_WALL_PORTS + 3;
        assert_int_equal(plan_refuse(&spec, &facts, &request, &e), -1);
        assert_int_equal(e.code, ERROR_EGRESS_UNENFORCEABLE);
        assert_string_equal(e.reason, "too_many_ports");
        assert_string_equal(e.path, "network/egress/60");
        assert_int_equal(e.line, 60);
}

static void
names_are_answered_inside(void **state)
{
        const struct spec_egress egress[2] = {
                { .host = "a.example", .ports = { 443 }, .port_count = 1 },
                { .host = "ns.example", .ports = { 53 }, .port_count = 1, .line = 9, .item = 1 }
        };
        const struct spec spec = { .provider = "local", .egress = egress, .egress_count = 2 };
        const struct plan_request request = { .mount_count = 0 };
        struct host_facts facts;
        struct error e;

        (void)state;
        fill(&facts);
        facts.has_wall = true;
        assert_int_equal(plan_refuse(&spec, &facts, &request, &e), -1);
        assert_int_equal(e.code, ERROR_EGRESS_UNENFORCEABLE);
        assert_string_equal(e.reason, "dns_port");
        assert_string_equal(e.path, "network/egress/1");
        assert_int_equal(e.line, 9);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_host_that_cannot_isolate),
                cmocka_unit_test(a_mount_over_what_a_box_is_made_of),
                cmocka_unit_test(a_list_that_it_cannot_hold_to),
                cmocka_unit_test(more_ports_than_a_wall_holds),
                cmocka_unit_test(names_are_answered_inside),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
