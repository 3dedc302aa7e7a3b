/* plan/machine_test.c - plan/machine.c: what is done on the host, what in the machine, what is
 * refused. */
#include "plan/machine.h"

#include "plan/bench_test.h"
#include "plan/wall.h"

#include <stdlib.h>
#include <string.h>

static const struct plan_machine machine = { .qemu = "/usr/bin/qemu-system-x86_64",
                                             .kernel = "/boot/vmlinuz-6",
                                             .modules = "/lib/modules/6/a.ko",
                                             .shares = "/usr/lib/qemu/virtiofsd",
                                             .network = "/lib/modules/6/net.ko",
                                             .has_tap = true,
                                             .tsc_khz = 2000000 };
static const struct plan_machine without_shares = { .qemu = "/usr/bin/qemu-system-x86_64",
                                                    .kernel = "/boot/vmlinuz-6",
                                                    .modules = "/lib/modules/6/a.ko",
                                                    .tsc_khz = 2000000 };
static const struct plan_machine without_network = { .qemu = "/usr/bin/qemu-system-x86_64",
                                                     .kernel = "/boot/vmlinuz-6",
                                                     .modules = "/lib/modules/6/a.ko",
                                                     .has_tap = true };
static const struct plan_machine without_tap = { .qemu = "/usr/bin/qemu-system-x86_64",
                                                 .kernel = "/boot/vmlinuz-6",
                                                 .modules = "/lib/modules/6/a.ko",
                                                 .network = "" };
static const struct plan_rootfs rootfs = { .ref = "box:1@sha256:0",
                                           .layer_count = 1,
                                           .has_record = true };
static const struct plan_source shown[] = {
        { .host_path = "/home/me/project", .device = 1, .inode = 2, .is_directory = true },
        { .host_path = "box:1@sha256:0" },
        { .host_path = "/state/images/disks/0", .device = 3, .inode = 4 },
};
static const struct plan_mount places[] = { { .source = 0, .at = "/workspace" } };

static void
set_up(struct bench *b)
{
        setup(b);
        host_v2(&b->facts.cgroup);
        b->facts.is_privileged = true;
        b->facts.cpu_count = 4;
        b->facts.memory_mb = 16384;
        b->spec.image = "box:1";
        b->spec.limits.memory_mb = 256;
        b->spec.limits.cpu_millicores = 1500;
        b->request.machine = &machine;
        b->request.rootfs = &rootfs;
        b->request.sources = shown + 1;
        b->request.source_count = 2;
        b->request.outside_uid = b->request.outside_gid = 1900000007;
}

static void
mount_workspace(struct bench *b)
{
        b->request.sources = shown;
        b->request.source_count = 3;
        b->request.mounts = places;
        b->request.mount_count = 1;
}

static const struct step *
find(const struct plan *plan, enum step_op op)
{
        return find_step(plan, op, NULL, NULL);
}

/* After MACHINE nothing names the host. */
static void
what_is_sent_to_the_machine_says_nothing_of_the_host(void **state)
{
        struct bench b;
        const struct step *start;

        (void)state;
        set_up(&b);
        mount_workspace(&b);
        must_build(&b);
        start = find(b.plan, STEP_MACHINE);
        assert_non_null(start);
        for (const struct step *s = start + 1; s < b.plan->steps + b.plan->step_count; s++) {
                assert_int_equal(s->source, STEP_NO_SOURCE);
                assert_null(strstr(s->text, "/home/me"));
                assert_null(strstr(s->text, "/state"));
                assert_true(s->op != STEP_DISK && s->op != STEP_LAYER && s->op != STEP_OVERLAY);
        }
        assert_true(find_step(b.plan, STEP_LOWER, NULL, PLAN_MACHINE_DISK) > start);
        assert_true(find(b.plan, STEP_LANDLOCK) > start);
        assert_int_equal(count_op(b.plan, STEP_ENTER), 2);
        assert_int_equal(count_op(b.plan, STEP_SEAL), 4); /* QEMU's root; /, /dev and /sys inside */
        assert_true(find_step(b.plan, STEP_SEAL, "/dev", NULL) > start);
        teardown(&b);
}

static void
qemu_sees_what_it_needs(void **state)
{
        struct bench b;

        (void)state;
        set_up(&b);
        must_build(&b);
        assert_null(find_step(b.plan, STEP_BIND, "/usr", NULL));
        assert_null(find_step(b.plan, STEP_BIND, NULL, "/etc/ld.so.cache"));
        assert_non_null(find_step(b.plan, STEP_BIND, "/disk", "/state/images/disks/0"));
        assert_null(find(b.plan, STEP_SERVE));
        assert_null(find(b.plan, STEP_VIRTIOFS));
        /* the store of images is closed to the box's id, so the maker opens the disk */
        assert_int_equal(find(b.plan, STEP_TREE)->source, 1);
        teardown(&b);
}

static void
its_size_is_that_of_the_limits(void **state)
{
        const struct step *s;
        struct bench b;

        (void)state;
        set_up(&b);
        must_build(&b);
        s = find(b.plan, STEP_MACHINE);
        assert_non_null(strstr(s->text, "\n-smp\n2\n-m\n256M\n"));
        assert_non_null(strstr(s->text, "tsc_early_khz=2000000"));
        s = find_step(b.plan, STEP_CGROUP_LIMIT, "/sys/fs/cgroup/carrel-" ID "/memory.max", NULL);
        assert_int_equal(strtoull(s->text, NULL, 10), (256 + plan_machine_overhead_mb()) << 20);
        assert_non_null(find_step(b.plan, STEP_FILE, "/sys/devices/system/cpu/online", "0-1\n"));
        assert_int_equal(find(b.plan, STEP_SCRATCH)->number, (256 - 64) / 2 << 20);
        teardown(&b);
}

static void
mounts_are_made_outside_and_shown_inside(void **state)
{
        struct bench b;
        const struct step *outside, *inside, *start;

        (void)state;
        set_up(&b);
        mount_workspace(&b);
        must_build(&b);
        start = find(b.plan, STEP_MACHINE);
        outside = find_step(b.plan, STEP_BIND, PLAN_MACHINE_SHARES "/workspace", NULL);
        inside = find_step(b.plan, STEP_BIND, "/workspace", PLAN_MACHINE_SHARES "/workspace");
        assert_true(outside && inside && outside < start && start < inside);
        assert_int_equal(outside->source, 0);
        assert_true(find(b.plan, STEP_SERVE) < start && start < find(b.plan, STEP_VIRTIOFS));
        assert_non_null(strstr(start->text, "vhost-user-fs-device"));
        assert_non_null(find_step(b.plan, STEP_LANDLOCK_ALLOW, "/workspace", NULL));
        teardown(&b);
}

/* QEMU reads the saved machine and has its memory in a file; nothing else of it changes. */
static void
a_saved_machine_has_the_same_devices(void **state)
{
        static const struct plan_source with_saved[] = { { .host_path = "/state/machine" },
                                                         { .host_path = "box:1@sha256:0" },
                                                         { .host_path = "/state/images/disks/0" } };
        struct plan_machine started = machine;
        const char *boots, *text;
        const struct step *s;
        struct bench b;

        (void)state;
        set_up(&b);
        must_build(&b);
        assert_null(find(b.plan, STEP_SAVED));
        boots = strdup(find(b.plan, STEP_MACHINE)->text);
        assert_non_null(boots);
        teardown(&b);

        set_up(&b);
        started.start = PLAN_MACHINE_WAKES;
        b.request.machine = &started;
        b.request.sources = with_saved;
        b.request.source_count = 3;
        must_build(&b);
        s = find(b.plan, STEP_SAVED);
        text = find(b.plan, STEP_MACHINE)->text;
        assert_non_null(s);
        assert_int_equal(s->source, 0);
        assert_int_equal(s->number, PLAN_MACHINE_WAKES);
        assert_int_equal(s->number2, 256);
        assert_string_equal(s->path, PLAN_MACHINE_MEMORY);
        assert_string_equal(s->text, "/state/machine");
        assert_int_equal(find(b.plan, STEP_TREE)->source, 2);
        assert_memory_equal(text, boots, strlen(boots));
        assert_non_null(strstr(text + strlen(boots), "mem-path=" PLAN_MACHINE_MEMORY "\n"));
        assert_string_equal(text + strlen(text) - strlen("\n-incoming\ndefer\n-S"),
                            "\n-incoming\ndefer\n-S");
        free((char *)(uintptr_t)boots);
        teardown(&b);
}

static const char *
identity(struct bench *b)
{
        return plan_machine_identity(&b->arena, &b->spec, &b->facts, b->request.machine);
}

/* They are devices that it gets when it wakes. */
static void
a_machine_with_mounts_or_a_network_is_the_same_one(void **state)
{
        static const struct spec_mount mount = { .at = "/workspace" };
        static const struct spec_egress egress = { .host = "example.com" };
        struct plan_machine measured = machine;
        const char *first;
        struct bench b;

        (void)state;
        set_up(&b);
        first = identity(&b);
        assert_non_null(first);
        measured.tsc_khz++;
        b.request.machine = &measured;
        assert_string_equal(identity(&b), first);
        b.spec.limits.memory_mb++;
        assert_string_not_equal(identity(&b), first);
        b.spec.limits.memory_mb--;
        b.spec.mounts = &mount;
        b.spec.mount_count = 1;
        assert_string_equal(identity(&b), first);
        b.spec.mount_count = 0;
        b.spec.egress = &egress;
        b.spec.egress_count = 1;
        assert_string_equal(identity(&b), first);
        b.spec.egress_count = 0;
        b.spec.wall.is_routed = true;
        assert_string_equal(identity(&b), first);
        teardown(&b);
}

static void
list_a_host(struct bench *b)
{
        static const struct spec_egress egress = { .host = "example.com",
                                                   .ports = { 22, 5432 },
                                                   .port_count = 2 };

        b->spec.egress = &egress;
        b->spec.egress_count = 1;
        b->facts.has_wall = true;
}

/* The wall is made before the box, which has a network of its own without anything in it. */
static void
a_list_gives_it_a_wall_and_one_device(void **state)
{
        const struct step *tap, *start, *join;
        struct bench b;

        (void)state;
        set_up(&b);
        list_a_host(&b);
        must_build(&b);
        tap = find(b.plan, STEP_TAP);
        start = find(b.plan, STEP_MACHINE);
        join = find(b.plan, STEP_JOIN);
        assert_true(tap && join && tap < find(b.plan, STEP_SPAWN) && start < join);
        assert_string_equal(tap->text, "22");
        assert_int_equal(tap->number2, 1 + PLAN_WALL_SPARE);
        assert_non_null(strstr(start->text, "tap,id=network,fd=5"));
        assert_non_null(strstr(find(b.plan, STEP_FIRST)->text, "a.ko\n/lib/modules/6/net.ko"));
        assert_non_null(
                find_step(b.plan, STEP_FILE, "/etc/resolv.conf", "nameserver 198.18.0.1\n"));
        assert_true(!find(b.plan, STEP_WALL) && !find(b.plan, STEP_ROUTED));
        teardown(&b);
}

/* In the transports that its tables list, and with the drivers in it before. */
static void
a_saved_machine_gets_its_devices_when_it_wakes(void **state)
{
        static const struct plan_source with_saved[] = {
                { .host_path = "/home/me/project", .device = 1, .inode = 2, .is_directory = true },
                { .host_path = "/state/machine" },
                { .host_path = "box:1@sha256:0" },
                { .host_path = "/state/images/disks/0" }
        };
        struct plan_machine started = machine;
        struct bench b;

        (void)state;
        for (int way = PLAN_MACHINE_BOOTS; way <= PLAN_MACHINE_WAKES; way++) {
                const struct step *first;

                set_up(&b);
                started.start = (enum plan_machine_start)way;
                b.request.machine = &started;
                if (way == PLAN_MACHINE_WAKES) {
                        list_a_host(&b);
                        mount_workspace(&b);
                        b.request.sources = with_saved;
                        b.request.source_count = 4;
                        started.saved = 1;
                }
                must_build(&b);
                first = find(b.plan, STEP_FIRST);
                assert_int_equal(first->number, way);
                assert_int_equal(strstr(first->text, "net.ko") != NULL, way != PLAN_MACHINE_BOOTS);
                assert_int_equal(strstr(find(b.plan, STEP_MACHINE)->text,
                                        ",bus=" PLAN_MACHINE_NETWORK_AT) != NULL,
                                 way == PLAN_MACHINE_WAKES);
                assert_int_equal(strstr(find(b.plan, STEP_MACHINE)->text,
                                        ",bus=" PLAN_MACHINE_SHARE_AT) != NULL,
                                 way == PLAN_MACHINE_WAKES);
                teardown(&b);
        }
}

static void
every_port_inside_is_free(void **state)
{
        struct bench b;

        (void)state;
        set_up(&b);
        list_a_host(&b);
        b.spec.provider = "local";
        assert_false(plan_has_low_ports(&b.spec, &b.facts));
        b.spec.provider = "microvm";
        assert_true(plan_has_low_ports(&b.spec, &b.facts));
        teardown(&b);
}

static void
without_a_list_it_has_no_device(void **state)
{
        struct bench b;

        (void)state;
        set_up(&b);
        must_build(&b);
        assert_true(!find(b.plan, STEP_TAP) && !find(b.plan, STEP_JOIN));
        assert_null(strstr(find(b.plan, STEP_MACHINE)->text, "netdev"));
        assert_null(strstr(find(b.plan, STEP_FIRST)->text, "net.ko"));
        teardown(&b);
}

static void
what_it_cannot_do_is_refused_by_name(void **state)
{
        static const struct {
                const struct plan_machine *machine;
                const char *reason;
        } no_way[] = { { &without_network, "kernel_modules" }, { &without_tap, "no_tun" } };
        struct bench b;

        (void)state;
        set_up(&b);
        mount_workspace(&b);
        b.request.machine = &without_shares;
        assert_int_equal(build(&b), -1);
        assert_string_equal(b.error.reason, "no_virtiofsd");
        teardown(&b);

        for (size_t i = 0; i < sizeof no_way / sizeof *no_way; i++) {
                set_up(&b);
                list_a_host(&b);
                b.request.machine = no_way[i].machine;
                assert_int_equal(build(&b), -1);
                assert_int_equal(b.error.code, ERROR_EGRESS_UNENFORCEABLE);
                assert_string_equal(b.error.reason, no_way[i].reason);
                teardown(&b);
        }

        set_up(&b);
        b.spec.limits.memory_mb = 100;
        assert_int_equal(build(&b), -1);
        assert_string_equal(b.error.reason, "machine_small");
        teardown(&b);

        set_up(&b);
        b.spec.carrel.disk = SPEC_DISK_IMAGE;
        assert_int_equal(build(&b), -1);
        assert_string_equal(b.error.reason, "machine_disk");
        teardown(&b);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_sent_to_the_machine_says_nothing_of_the_host),
                cmocka_unit_test(qemu_sees_what_it_needs),
                cmocka_unit_test(its_size_is_that_of_the_limits),
                cmocka_unit_test(mounts_are_made_outside_and_shown_inside),
                cmocka_unit_test(a_saved_machine_has_the_same_devices),
                cmocka_unit_test(a_machine_with_mounts_or_a_network_is_the_same_one),
                cmocka_unit_test(a_saved_machine_gets_its_devices_when_it_wakes),
                cmocka_unit_test(a_list_gives_it_a_wall_and_one_device),
                cmocka_unit_test(every_port_inside_is_free),
                cmocka_unit_test(without_a_list_it_has_no_device),
                cmocka_unit_test(what_it_cannot_do_is_refused_by_name),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
