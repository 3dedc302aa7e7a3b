/* plan/container_test.c - plan/container.c: which steps a runtime does, and its config.json. */
#include "plan/bench_test.h"

#include <sched.h>

#include "text/json.h"

enum { SETUP_ID = 2142548743 };

static void
set_up(struct bench *b)
{
        setup(b);
        host_v2(&b->facts.cgroup);
        b->facts.is_privileged = true;
        b->request.container = "/usr/sbin/runc";
        b->request.outside_uid = b->request.outside_gid = 1900000007;
        b->request.setup_id = SETUP_ID;
}

/* As root: 65536 ids, of which root is the first. */
static void
set_up_image(struct bench *b, const char *user)
{
        static const struct plan_source layers[2] = {
                { .host_path = "/s/layers/1", .is_directory = true },
                { .host_path = "/s/layers/2", .is_directory = true },
        };
        static const struct plan_rootfs rootfs = { .ref = "box:1@sha256:0", .layer_count = 2 };

        set_up(b);
        b->request.rootfs = &rootfs;
        b->request.sources = layers;
        b->request.source_count = 2;
        b->request.has_range = true;
        b->request.outside_uid = b->request.outside_gid = 1900065536;
        b->spec.image = "box:1";
        b->spec.user = user;
}

static const struct step *
find(const struct plan *plan, enum step_op op)
{
        return find_step(plan, op, NULL, NULL);
}

static const struct node *
config_of(struct bench *b)
{
        const struct step *s = find(b->plan, STEP_RUNTIME);
        const struct node *root = NULL;

        assert_non_null(s);
        assert_int_equal(
                json_read(&b->arena, s->text, s->text_len, &text_limits_manifest, &root, &b->error),
                0);
        return root;
}

static void
the_runtime_does_what_only_the_inside_can(void **state)
{
        struct bench b;
        size_t marked = 0;

        (void)state;
        set_up(&b);
        assert_int_equal(build(&b), 0);
        assert_null(find(b.plan, STEP_ENTER));
        assert_null(find(b.plan, STEP_NO_USER_NS));
        assert_int_equal(find(b.plan, STEP_SPAWN)->number, CLONE_NEWNS | CLONE_NEWNET);
        for (size_t i = 0; i < b.plan->step_count; i++) {
                const struct step *s = &b.plan->steps[i];

                assert_int_equal(s->flags & STEP_SHARED, 0);
                marked += (s->flags & STEP_BY_RUNTIME) != 0;
                /* a protected name in a mount is Carrel's to hold */
                if (s->op == STEP_MASK && strncmp(s->path, "/proc/", 6) != 0)
                        assert_int_equal(s->flags & STEP_BY_RUNTIME, 0);
        }
        assert_true(marked > 6);
        /* the program is there before the root becomes read-only, and the container after */
        assert_true(find(b.plan, STEP_PROGRAM) < find(b.plan, STEP_SEAL));
        assert_true(find(b.plan, STEP_SEAL) < find(b.plan, STEP_CONTAINER));
        assert_string_equal(find(b.plan, STEP_CONTAINER)->path, "/usr/sbin/runc");
        teardown(&b);
}

static void
its_config_gives_nothing(void **state)
{
        static const char *const sets[] = { "bounding", "effective", "inheritable", "permitted",
                                            "ambient" };
        const struct node *config, *process, *in_linux, *maps;
        struct bench b;

        (void)state;
        set_up(&b);
        assert_int_equal(build(&b), 0);
        config = config_of(&b);
        process = node_find(config, "process");
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
                assert_int_equal(node_find(node_find(process, "capabilities"), sets[i])->len, 0);
        assert_int_equal(node_find(node_find(process, "user"), "uid")->integer, 1000);
        assert_true(node_find(process, "noNewPrivileges")->boolean);
        assert_true(node_is_text(node_find(config, "hostname"), "carrel"));
        in_linux = node_find(config, "linux");
        assert_int_equal(node_find(in_linux, "namespaces")->len, 6);
        maps = node_find(in_linux, "uidMappings");
        assert_int_equal(maps->len, 2);
        assert_int_equal(node_find(maps->first, "hostID")->integer, SETUP_ID);
        assert_int_equal(node_find(maps->first->next, "hostID")->integer, 1900000007);
        assert_true(node_is_text(node_find(in_linux, "cgroupsPath"), "/carrel-" ID "/box"));
        assert_true(node_find(in_linux, "maskedPaths")->len > 10);
        teardown(&b);
}

static void
on_a_hybrid_host_it_sees_the_v2_hierarchy_alone(void **state)
{
        struct bench b;

        (void)state;
        set_up(&b);
        host_v1(&b.facts.cgroup);
        (void)snprintf(b.facts.cgroup.unified, sizeof b.facts.cgroup.unified,
                       "/sys/fs/cgroup/unified/own");
        assert_int_equal(build(&b), 0);
        assert_int_equal(find(b.plan, STEP_CONTAINER)->number, 1);
        assert_true(node_is_text(node_find(node_find(config_of(&b), "linux"), "cgroupsPath"),
                                 "/own/carrel-" ID "/box"));
        teardown(&b);
}

/* In version 2 a group with a process cannot give controllers to the groups below it. */
static void
no_process_is_in_the_group_above_the_container(void **state)
{
        size_t joined = 0;
        struct bench b;

        (void)state;
        set_up(&b);
        assert_int_equal(build(&b), 0);
        for (size_t i = 0; i < b.plan->step_count; i++) {
                const struct step *s = &b.plan->steps[i];

                if (s->op != STEP_CGROUP_JOIN)
                        continue;
                joined++;
                assert_true((s->flags & STEP_UNIFIED) != 0);
                assert_non_null(strstr(s->path, "/carrel-" ID "/relay"));
        }
        assert_int_equal(joined, 1);
        teardown(&b);
}

/* crun up to 1.8 leaves out what is mounted below a directory that it binds. */
static void
each_mount_in_dev_is_named(void **state)
{
        static const char *const wanted[] = {
                "/dev",         "/dev/null", "/dev/zero", "/dev/full",
                "/dev/urandom", "/dev/tty",  "/dev/pts",  "/dev/shm"
        };
        const struct node *listed;
        struct bench b;

        (void)state;
        set_up(&b);
        assert_int_equal(build(&b), 0);
        listed = node_find(config_of(&b), "mounts");
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
                bool is_there = false;

                node_each(mount, listed) is_there |=
                        node_is_text(node_find(mount, "destination"), wanted[i]) &&
                        node_is_text(node_find(mount, "type"), "bind");
                if (!is_there)
                        fail_msg("%s", wanted[i]);
        }
        teardown(&b);
}

static void
an_image_has_its_range_of_ids_and_its_name(void **state)
{
        const struct node *config, *maps;
        const struct step *home = NULL;
        struct bench b;

        (void)state;
        set_up_image(&b, NULL);
        assert_int_equal(build(&b), 0);
        config = config_of(&b);
        maps = node_find(node_find(config, "linux"), "uidMappings");
        assert_int_equal(maps->len, 1);
        assert_int_equal(node_find(maps->first, "containerID")->integer, 0);
        assert_int_equal(node_find(maps->first, "hostID")->integer, 1900065536);
        assert_int_equal(node_find(maps->first, "size")->integer, 65536);
        assert_true(node_is_text(node_find(node_find(config, "annotations"), "carrel.image"),
                                 "box:1@sha256:0"));
        assert_int_equal(node_find(node_find(node_find(config, "process"), "user"), "uid")->integer,
                         1000);
        assert_int_equal(find(b.plan, STEP_CONTAINER)->number2, SETUP_ID);
        for (size_t i = 0; i < b.plan->step_count; i++)
                if (b.plan->steps[i].op == STEP_PRIVATE &&
                    strcmp(b.plan->steps[i].path, "/home/agent") == 0)
                        home = &b.plan->steps[i];
        assert_non_null(home); /* made outside of the user namespace */
        assert_int_equal(home->number2, 1900065536 + 1000);
        teardown(&b);
}

/* Pid 1 cannot gain what the runtime does not give it, and keeps nothing else. */
static void
root_of_an_image_gets_what_its_steps_keep(void **state)
{
        static const char *const sets[] = { "bounding", "effective", "permitted" };
        const struct node *process, *caps;
        struct bench b;

        (void)state;
        set_up_image(&b, "root");
        b.spec.limits.pids = 50;
        assert_int_equal(build(&b), 0);
        process = node_find(config_of(&b), "process");
        assert_int_equal(node_find(node_find(process, "user"), "uid")->integer, 0);
        caps = node_find(process, "capabilities");
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
                assert_int_equal(node_find(caps, sets[i])->len,
                                 __builtin_popcountll(find(b.plan, STEP_DROP_CAPS)->number));
        assert_int_equal(node_find(caps, "bounding")->len, 7);
        assert_true(node_is_text(node_find(caps, "bounding")->first, "CAP_CHOWN"));
        assert_int_equal(node_find(caps, "inheritable")->len, 0);
        assert_int_equal(node_find(caps, "ambient")->len, 0);
        teardown(&b);
}

/* The group also holds the runtime's threads until it has ended. */
static void
a_limit_of_tasks_leaves_room_for_the_runtime(void **state)
{
        const struct step *limit = NULL, *again;
        struct bench b;

        (void)state;
        set_up(&b);
        b.spec.limits.pids = 5;
        assert_int_equal(build(&b), 0);
        for (size_t i = 0; i < b.plan->step_count; i++)
                if (b.plan->steps[i].op == STEP_CGROUP_LIMIT &&
                    strstr(b.plan->steps[i].path, "/pids.max"))
                        limit = &b.plan->steps[i];
        assert_non_null(limit);
        assert_true(strlen(limit->text) == 2 && limit->text[0] >= '6');
        again = find(b.plan, STEP_TASKS);
        assert_true(again > find(b.plan, STEP_CONTAINER));
        assert_string_equal(again->path, limit->path);
        assert_string_equal(again->text, "7"); /* and relay and pid 1 */
        assert_true(b.plan->counts_pids);
        teardown(&b);
}

/* -- an ordinary user -------------------------------------------------------------------------- */

static void
set_up_ordinary(struct bench *b)
{
        set_up(b);
        b->facts.is_privileged = false;
        b->request.outside_uid = 1001;
        b->request.outside_gid = 1002;
        b->request.setup_id = 0;
}

static void
an_ordinary_users_runtime_is_in_namespaces_of_carrel(void **state)
{
        const struct step *uid, *gid;
        struct bench b;

        (void)state;
        set_up_ordinary(&b);
        assert_int_equal(build(&b), 0);
        assert_int_equal(find(b.plan, STEP_SPAWN)->number,
                         CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET);
        uid = find(b.plan, STEP_MAP_UID);
        gid = find(b.plan, STEP_MAP_GID);
        assert_int_equal(uid->flags & STEP_BY_RUNTIME, 0);
        assert_int_equal(uid->number, 0);
        assert_int_equal(uid->number2, 1001);
        assert_int_equal(gid->number2, 1002);
        /* the runtime's, and that of pid 1 */
        assert_int_equal(find(b.plan, STEP_NO_USER_NS)->number, 2);
        assert_non_null(find(b.plan, STEP_USER_POOLS));
        assert_int_equal(find(b.plan, STEP_OWN_IDS)->number, 1000);
        assert_true((find(b.plan, STEP_OWN_IDS)->flags & STEP_BY_RUNTIME) != 0);
        assert_true(find(b.plan, STEP_OWN_IDS) < find(b.plan, STEP_CONTAINER));
        assert_int_equal(find(b.plan, STEP_CONTAINER)->number, STEP_NESTED);
        teardown(&b);
}

static void
its_config_has_the_capability_to_map_ids_alone(void **state)
{
        static const char *const sets[] = { "bounding", "effective", "permitted" };
        static const char *const users[] = { NULL, "root" };
        const struct node *process, *in_linux, *caps;
        struct bench b;

        (void)state;
        for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
                set_up_image(&b, users[i]);
                b.facts.is_privileged = false;
                b.request.has_range = false;
                assert_int_equal(build(&b), 0);
                process = node_find(config_of(&b), "process");
                in_linux = node_find(config_of(&b), "linux");
                caps = node_find(process, "capabilities");
                for (size_t set = 0; set < sizeof sets / sizeof *sets; set++) {
                        assert_int_equal(node_find(caps, sets[set])->len, 1);
                        assert_true(node_is_text(node_find(caps, sets[set])->first, "CAP_SETFCAP"));
                }
                assert_int_equal(node_find(node_find(process, "user"), "uid")->integer, 0);
                assert_true(node_is_text(node_find(process, "args")->first->next->next,
                                         users[i] ? "0" : "1000"));
                assert_int_equal(node_find(in_linux, "namespaces")->len, 5);
                assert_null(node_find(in_linux, "uidMappings"));
                assert_true(node_is_text(node_find(in_linux, "cgroupsPath"), "/carrel-" ID "/box"));
                teardown(&b);
        }
}

static void
without_a_group_its_pid_namespace_holds_it(void **state)
{
        struct bench b;

        (void)state;
        set_up_ordinary(&b);
        memset(&b.facts.cgroup, 0, sizeof b.facts.cgroup);
        b.spec.limits.memory_mb = 100;
        assert_int_equal(build(&b), 0);
        assert_null(find(b.plan, STEP_CGROUP_MAKE));
        assert_null(node_find(node_find(config_of(&b), "linux"), "cgroupsPath"));
        assert_true(has_warning(&b.findings, "limit_unenforceable:memory_mb"));
        teardown(&b);
}

static void
a_host_that_cannot_is_refused_by_name(void **state)
{
        struct bench b;

        (void)state;
        set_up(&b);
        b.facts.cgroup.unified[0] = '\0';
        assert_int_equal(build(&b), -1);
        assert_string_equal(b.error.reason, "no_unified");
        teardown(&b);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_runtime_does_what_only_the_inside_can),
                cmocka_unit_test(its_config_gives_nothing),
                cmocka_unit_test(on_a_hybrid_host_it_sees_the_v2_hierarchy_alone),
                cmocka_unit_test(no_process_is_in_the_group_above_the_container),
                cmocka_unit_test(each_mount_in_dev_is_named),
                cmocka_unit_test(an_image_has_its_range_of_ids_and_its_name),
                cmocka_unit_test(root_of_an_image_gets_what_its_steps_keep),
                cmocka_unit_test(a_limit_of_tasks_leaves_room_for_the_runtime),
                cmocka_unit_test(an_ordinary_users_runtime_is_in_namespaces_of_carrel),
                cmocka_unit_test(its_config_has_the_capability_to_map_ids_alone),
                cmocka_unit_test(without_a_group_its_pid_namespace_holds_it),
                cmocka_unit_test(a_host_that_cannot_is_refused_by_name),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
