/*
 * plan/disk_test.c - what plan/disk.h promises: when the private places are on an image, and how
 * large they are.
 */
#include "base/unit.h"
#include "plan/disk.h"

#include <string.h>

#include "plan/plan.h"

#define UNSET SPEC_UNSET

struct row {
        const char *name;
        enum spec_disk disk;
        uint64_t memory_mb, disk_mb /* UNSET: not written */, machine_mb;
        bool is_root, has_group;
        enum spec_disk form;
        uint64_t in_memory, shared;
};

static const struct row rows[] = {
        { "nothing is written", SPEC_DISK_AUTO, UNSET, UNSET, 16000, true, true, SPEC_DISK_MEMORY,
          2048, 2048 },
        { "... on a small machine", SPEC_DISK_AUTO, UNSET, UNSET, 1000, true, true,
          SPEC_DISK_MEMORY, 500, 500 },
        { "as much memory as disk", SPEC_DISK_AUTO, 2048, UNSET, 16000, true, true,
          SPEC_DISK_MEMORY, 2048, 1024 },
        { "less memory than disk", SPEC_DISK_AUTO, 512, UNSET, 16000, true, true, SPEC_DISK_IMAGE,
          2048, 256 },
        { "... that nothing holds it to", SPEC_DISK_AUTO, 512, UNSET, 16000, true, false,
          SPEC_DISK_MEMORY, 2048, 2048 },
        { "... as an ordinary user", SPEC_DISK_AUTO, 512, UNSET, 16000, false, true,
          SPEC_DISK_DIRECTORY, 2048, 256 },
        { "... and a small disk", SPEC_DISK_AUTO, 512, 100, 16000, true, true, SPEC_DISK_MEMORY,
          100, 100 },
        { "more disk than half of the machine", SPEC_DISK_AUTO, UNSET, 20480, 16000, true, true,
          SPEC_DISK_IMAGE, 20480, 8000 },
        { "... than fits in an image", SPEC_DISK_AUTO, UNSET, PLAN_IMAGE_MB_MAX + 1, 16000, true,
          true, SPEC_DISK_MEMORY, PLAN_IMAGE_MB_MAX + 1, 8000 },
        { "an image by name", SPEC_DISK_IMAGE, UNSET, UNSET, 16000, true, true, SPEC_DISK_IMAGE,
          2048, 2048 },
        { "... as an ordinary user", SPEC_DISK_IMAGE, UNSET, UNSET, 16000, false, true,
          SPEC_DISK_IMAGE, 2048, 2048 },
        { "a directory by name", SPEC_DISK_DIRECTORY, UNSET, UNSET, 16000, true, true,
          SPEC_DISK_DIRECTORY, 2048, 2048 },
        { "... as an ordinary user, more than fits in an image", SPEC_DISK_AUTO, UNSET,
          PLAN_IMAGE_MB_MAX + 1, 16000, false, true, SPEC_DISK_DIRECTORY, PLAN_IMAGE_MB_MAX + 1,
          8000 },
        { "a disk by name", SPEC_DISK_DISK, UNSET, UNSET, 16000, true, true, SPEC_DISK_IMAGE, 2048,
          2048 },
        { "... as an ordinary user", SPEC_DISK_DISK, UNSET, UNSET, 16000, false, true,
          SPEC_DISK_DIRECTORY, 2048, 2048 },
        { "... than fits in an image", SPEC_DISK_DISK, UNSET, PLAN_IMAGE_MB_MAX + 1, 16000, true,
          true, SPEC_DISK_DIRECTORY, PLAN_IMAGE_MB_MAX + 1, 8000 },
        { "memory by name", SPEC_DISK_MEMORY, 512, 20480, 16000, true, true, SPEC_DISK_MEMORY,
          20480, 256 },
        { "one MiB of memory", SPEC_DISK_AUTO, 1, UNSET, 16000, true, true, SPEC_DISK_IMAGE, 2048,
          1 },
};

static void
agrees_with_the_table(void **state)
{
        (void)state;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
                const struct row *r = &rows[i];
                struct node carrel = { .kind = NODE_MAP, .key = "carrel" },
                            limits = { .kind = NODE_MAP, .key = "limits" },
                            written = { .kind = NODE_INT, .key = "disk_mb" };
                struct node metadata = { .kind = NODE_MAP, .first = &carrel, .len = 1 };
                struct spec spec = { .carrel.disk = r->disk,
                                     .limits = { .memory_mb = r->memory_mb,
                                                 .disk_mb = r->disk_mb == UNSET ? SPEC_DISK_MB
                                                                                : r->disk_mb },
                                     .metadata = &metadata };
                struct host_facts facts = { .is_privileged = r->is_root,
                                            .memory_mb = r->machine_mb };

                carrel.first = &limits;
                limits.first = r->disk_mb == UNSET ? NULL : &written;
                facts.cgroup.place[CGROUP_MEMORY].version = r->has_group ? 2 : 0;
                if (plan_disk_form(&spec, &facts) != r->form)
                        fail_msg("%s: the form %d", r->name, (int)plan_disk_form(&spec, &facts));
                assert_int_equal(plan_memory_disk_mb(&spec, &facts), r->in_memory);
                assert_int_equal(plan_shared_memory_mb(&spec, &facts), r->shared);
                assert_int_equal(plan_disk_mb(&spec), spec.limits.disk_mb);
        }
}

/* -- in a plan --------------------------------------------------------------------------------- */

struct bench {
        struct arena arena;
        struct findings findings;
        struct spec spec;
        struct host_facts facts;
        struct plan_request request;
        struct plan_source source;
        const struct plan *plan;
        struct error error;
};

static void
setup(struct bench *b, enum spec_disk disk, bool has_image)
{
        *b = (struct bench){ .spec = { .carrel.disk = disk,
                                       .limits = { .timeout_ms = UNSET,
                                                   .memory_mb = 512,
                                                   .cpu_ms = UNSET,
                                                   .cpu_millicores = UNSET,
                                                   .pids = UNSET,
                                                   .open_files = UNSET,
                                                   .io_read_bps = UNSET,
                                                   .io_write_bps = UNSET,
                                                   .disk_mb = SPEC_DISK_MB,
                                                   .output_bytes = UNSET } },
                             .facts = { .has_user_ns = true,
                                        .has_seccomp = true,
                                        .has_mount_api = true,
                                        .is_privileged = true,
                                        .landlock_abi = 4,
                                        .memory_mb = 16000 },
                             .source = { .host_path = "/var/tmp", .is_directory = true } };
        b->facts.cgroup.place[CGROUP_MEMORY] =
                (struct cgroup_place){ .version = 2, .parent = "/sys/fs/cgroup" };
        b->request = (struct plan_request){ .id = "0123456789abcdef",
                                            .outside_uid = 1001,
                                            .outside_gid = 1002,
                                            .sources = &b->source,
                                            .source_count = has_image,
                                            .has_image = has_image,
                                            .why_no_image = has_image ? NULL : "the moon is full" };
        arena_init(&b->arena, 8 << 20);
        findings_init(&b->findings, &b->arena);
}

static int
build(struct bench *b)
{
        return plan_build(&b->arena, &b->spec, &b->facts, &b->request, &b->plan, &b->findings,
                          &b->error);
}

static const struct step *
find(const struct plan *plan, enum step_op op, const char *path)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == op && strcmp(plan->steps[i].path, path) == 0)
                        return &plan->steps[i];
        return NULL;
}

static void
an_image_holds_tmp_and_the_home_alone(void **state)
{
        const enum spec_disk disks[] = { SPEC_DISK_AUTO, SPEC_DISK_IMAGE };

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                struct bench b;
                const struct step *image;

                setup(&b, disks[i], true);
                assert_int_equal(build(&b), 0);
                image = find(b.plan, STEP_IMAGE, "");
                assert_non_null(image);
                assert_int_equal(image->source, 0);
                assert_int_equal(image->number, 2048);
                /* requested by name, it is required */
                assert_int_equal((image->flags & STEP_OPTIONAL) != 0, disks[i] == SPEC_DISK_AUTO);
                assert_int_equal(find(b.plan, STEP_SCRATCH, "")->number, UINT64_C(256) << 20);
                assert_int_equal(find(b.plan, STEP_DISK, "")->number, UINT64_C(2048) << 20);
                assert_true((find(b.plan, STEP_PRIVATE, "/tmp")->flags &
                             find(b.plan, STEP_PRIVATE, PLAN_HOME)->flags & STEP_ON_IMAGE) != 0);
                assert_true(((find(b.plan, STEP_PRIVATE, "/run")->flags |
                              find(b.plan, STEP_PRIVATE, "/dev/shm")->flags) &
                             STEP_ON_IMAGE) == 0);
                assert_true(b.plan->is_on_image && b.plan->disk_floor_mb > 0 &&
                            b.plan->source_count == 1);
                arena_fini(&b.arena);
        }
}

static void
without_a_place_it_is_memory_or_a_refusal(void **state)
{
        struct bench b;

        (void)state;
        setup(&b, SPEC_DISK_AUTO, false);
        assert_int_equal(build(&b), 0);
        assert_null(find(b.plan, STEP_IMAGE, ""));
        assert_null(find(b.plan, STEP_DISK, ""));
        assert_int_equal(find(b.plan, STEP_SCRATCH, "")->number, UINT64_C(2048) << 20);
        assert_false(b.plan->is_on_image);
        arena_fini(&b.arena);
        setup(&b, SPEC_DISK_IMAGE, false);
        assert_int_equal(build(&b), -1);
        assert_int_equal(b.error.code, ERROR_CAPABILITY_UNAVAILABLE);
        assert_string_equal(b.error.path, "metadata/carrel/disk");
        assert_non_null(strstr(b.error.message, "the moon is full"));
        assert_non_null(strstr(b.error.hint, "disk: auto"));
        arena_fini(&b.arena);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(agrees_with_the_table),
                cmocka_unit_test(an_image_holds_tmp_and_the_home_alone),
                cmocka_unit_test(without_a_place_it_is_memory_or_a_refusal),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
