/*
 * plan/limits.c - the control groups in which a box is created, and the limits that this host
 * cannot enforce.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 * Theory: v1, v2 and hybrid hosts differ in the file and the format of a limit. That difference is
 * a table here and nowhere else. A group is created once even if several controllers share a
 * hierarchy. A limit without its controller warns by name (AIP-36 principle 7) and never fails
 * silently (P2, P11).
 */
#include "plan/builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plan/machine.h"

enum { FLOOR_MB = 32, TASKS_MAX = 4194304 };
enum {
        TASKS_PER_MIB = 8,
        TASKS_LEAST = 256,
        TASKS_USUAL = 4096,
        RUNTIME_TASKS = 64,
        TASK_MIB = 8 /* MiB of the machine's memory for each task */
};

static const char *
group_of(struct builder *b, enum cgroup_controller c)
{
        return builder_text(b, "%s/carrel-%s", b->facts->cgroup.place[c].parent, b->request->id);
}

static bool
has_place(const struct builder *b, enum cgroup_controller c)
{
        return b->facts->cgroup.place[c].version != 0 && builder_has(b, SWITCH_LIMITS);
}

/* A controller without the file of its hard limit cannot enforce a number. */
static bool
can_limit(const struct builder *b, enum cgroup_controller c)
{
        return has_place(b, c) && !b->facts->cgroup.place[c].is_limited;
}

static bool
is_made(const struct builder *b, const char *dir)
{
        for (size_t i = 0; i < b->count; i++)
                if (b->steps[i].op == STEP_CGROUP_MAKE && strcmp(b->steps[i].path, dir) == 0)
                        return true;
        return false;
}

static void
make_group(struct builder *b, enum cgroup_controller c, const char *why)
{
        const char *dir = group_of(b, c);

        if (!is_made(b, dir))
                (void)builder_add(b, STEP_CGROUP_MAKE, dir, why);
}

static void
limit(struct builder *b, enum cgroup_controller c, const char *v1_file, const char *v2_file,
      uint64_t value, const char *why)
{
        bool is_v2 = b->facts->cgroup.place[c].version == 2;
        struct step *s;

        make_group(b, c, why);
        s = builder_add(b, STEP_CGROUP_LIMIT,
                        builder_text(b, "%s/%s", group_of(b, c), is_v2 ? v2_file : v1_file), why);
        s->text = builder_text(b, "%" PRIu64, value);
        s->text_len = strlen(s->text);
}

static void
warn_unenforceable(struct builder *b, const char *field, const char *because)
{
        char name[64];

        (void)snprintf(name, sizeof name, "limit_unenforceable:%s", field);
        findings_warn(b->findings, name, "", 0, 0, "%s is not enforced on this host: %s", field,
                      because);
}

static const char *
no_group_because(const struct builder *b)
{
        return b->facts->cgroup.why_none ? b->facts->cgroup.why_none
                                         : "its control group controller is not available here";
}

/*
 * v1 counts socket buffers (TCP and UDP, whatever the file's name) only in a group that limits
 * them, and separately.
 */
static void
plan_sockets(struct builder *b, uint64_t bytes)
{
        const struct cgroup_place *place = &b->facts->cgroup.place[CGROUP_MEMORY];

        if (place->version == 1 && place->is_socket_limited)
                limit(b, CGROUP_MEMORY, "memory.kmem.tcp.limit_in_bytes", "", bytes,
                      "limits.memory_mb, for buffers of sockets");
        else if (place->version == 1)
                findings_warn(b->findings, "limit_unenforceable:memory_mb", "", 0, 0,
                              "memory_mb does not cover buffers of sockets on this host: its "
                              "version of control groups does not count them");
}

static void
plan_memory(struct builder *b)
{
        uint64_t mib = b->spec->limits.memory_mb;
        struct step *s;

        if (mib == SPEC_UNSET)
                return;
        if (!can_limit(b, CGROUP_MEMORY)) {
                warn_unenforceable(b, "memory_mb", no_group_because(b));
                return;
        }
        if (b->request->machine)
                mib = plan_machine_memory_mb(b->spec) + plan_machine_overhead_mb();
        if (mib > UINT64_MAX >> 21)
                mib = UINT64_MAX >> 21;
        limit(b, CGROUP_MEMORY, "memory.limit_in_bytes", "memory.max", mib << 20,
              b->request->machine ? "limits.memory_mb, and what QEMU itself takes"
                                  : "limits.memory_mb");
        if (b->facts->cgroup.place[CGROUP_MEMORY].is_swap_limited)
                limit(b, CGROUP_MEMORY, "memory.memsw.limit_in_bytes", "memory.swap.max",
                      b->facts->cgroup.place[CGROUP_MEMORY].version == 2 ? 0 : mib << 20,
                      "no swap past the limit");
        plan_sockets(b, mib << 20);
        if (b->facts->cgroup.place[CGROUP_MEMORY].version == 2 && !b->request->is_living)
                limit(b, CGROUP_MEMORY, "", "memory.oom.group", 1,
                      "out of memory ends the whole box, not a part of it");
        s = builder_add(b, STEP_CGROUP_WATCH,
                        builder_text(b, "%s/%s", group_of(b, CGROUP_MEMORY),
                                     b->facts->cgroup.place[CGROUP_MEMORY].version == 2
                                             ? "memory.events"
                                             : "memory.oom_control"),
                        "tells a memory kill from another");
        /* In a long-lived box the kernel kills one process, and the keeper kills the command
         * that it belonged to; other commands continue. */
        s->number = b->facts->cgroup.place[CGROUP_MEMORY].version == 2 || b->request->is_living
                            ? WATCH_MEMORY_EVENTS
                            : WATCH_OOM_CONTROL;
        if (b->request->is_living)
                builder_add(b, STEP_CGROUP_WATCH,
                            builder_text(b, "%s/memory.stat", group_of(b, CGROUP_MEMORY)),
                            "meters the memory that is in use")
                        ->number = WATCH_MEMORY_STAT;
        b->plan->counts_oom = true;
}

bool
builder_is_kept_in_group(const struct builder *b)
{
        return (b->request->is_living || b->request->container || b->request->machine) &&
               b->facts->cgroup.unified[0] != '\0' && builder_has(b, SWITCH_LIMITS);
}

static uint64_t
at_least(uint64_t number, uint64_t least)
{
        return number < least ? least : number;
}

static uint64_t
at_most(uint64_t number, uint64_t most)
{
        return number > most ? most : number;
}

/*
 * If limits.pids is not written, it follows from memory. The kernel calculates with 128 KiB per
 * task (threads-max), so 8 tasks for each MiB of memory_mb. A sandbox that starts more gets an
 * error for one task, instead of being killed for lack of memory. Large machines build with more
 * processes at once; 16384 is half of the kernel's default number of process ids.
 */
uint64_t
plan_pids(const struct spec *spec, const struct host_facts *facts)
{
        uint64_t most = spec->limits.pids;

        if (most == SPEC_UNSET || builder_is_written(spec, "pids"))
                return most;
        most = at_most(most, at_least(facts->memory_mb / TASK_MIB, TASKS_USUAL));
        return spec->limits.memory_mb == SPEC_UNSET
                       ? most
                       : at_most(most,
                                 at_least(spec->limits.memory_mb * TASKS_PER_MIB, TASKS_LEAST));
}

/* The kernel accepts no number above its maximum of process ids. */
uint64_t
builder_tasks(const struct builder *b)
{
        uint64_t own = 1 + (uint64_t)builder_is_kept_in_group(b);

        return at_most(plan_pids(b->spec, b->facts), TASKS_MAX - own) + own;
}

void
builder_tasks_again(struct builder *b)
{
        struct step *s;

        if (!b->plan->counts_pids)
                return;
        s = builder_add(b, STEP_TASKS, builder_text(b, "%s/pids.max", group_of(b, CGROUP_PIDS)),
                        "limits.pids, relay and pid 1: the runtime has ended");
        s->text = builder_text(b, "%" PRIu64, builder_tasks(b));
        s->text_len = strlen(s->text);
}

static void
cap_pids(struct builder *b)
{
        b->plan->pids = plan_pids(b->spec, b->facts);
        if (b->plan->pids == SPEC_UNSET)
                return;
        if (b->request->machine && can_limit(b, CGROUP_PIDS)) {
                limit(b, CGROUP_PIDS, "pids.max", "pids.max", plan_machine_tasks(),
                      "threads of QEMU; limits.pids applies inside the machine");
        } else if (can_limit(b, CGROUP_PIDS)) {
                uint64_t most = builder_tasks(b);

                if (b->request->container)
                        most = at_most(most + RUNTIME_TASKS, TASKS_MAX);
                limit(b, CGROUP_PIDS, "pids.max", "pids.max", most,
                      b->request->container
                              ? "limits.pids, relay and pid 1, and the threads of the runtime"
                      : builder_is_kept_in_group(b)
                              ? "limits.pids, pid 1 of the box, and the child it has ready"
                              : "limits.pids, and pid 1 of the box");
                builder_add(b, STEP_CGROUP_WATCH,
                            builder_text(b, "%s/pids.events", group_of(b, CGROUP_PIDS)),
                            "counts the tasks that were not started")
                        ->number = WATCH_PIDS_EVENTS;
                b->plan->counts_pids = true;
        }
        /* RLIMIT_NPROC in the box's own user namespace also caps tasks (harden.c), so no warning
         * is needed. */
}

static void
plan_cpu_share(struct builder *b)
{
        uint64_t millicores = b->spec->limits.cpu_millicores;
        const struct cgroup_place *place = &b->facts->cgroup.place[CGROUP_CPU];
        struct step *s;

        if (millicores == SPEC_UNSET)
                return;
        if (!can_limit(b, CGROUP_CPU)) {
                warn_unenforceable(b, "cpu_millicores",
                                   place->version != 0 ? "this kernel has no CPU quota"
                                                       : no_group_because(b));
                return;
        }
        make_group(b, CGROUP_CPU, "limits.cpu_millicores");
        s = builder_add(b, STEP_CGROUP_LIMIT,
                        builder_text(b, "%s/%s", group_of(b, CGROUP_CPU),
                                     place->version == 2 ? "cpu.max" : "cpu.cfs_quota_us"),
                        "limits.cpu_millicores");
        s->text = place->version == 2 ? builder_text(b, "%" PRIu64 " 100000", millicores * 100)
                                      : builder_text(b, "%" PRIu64, millicores * 100);
        s->text_len = strlen(s->text);
}

static void
plan_cpu_time(struct builder *b)
{
        const struct cgroup_facts *cgroup = &b->facts->cgroup;
        struct step *s;

        if (b->spec->limits.cpu_ms == SPEC_UNSET)
                return;
        if (!has_place(b, CGROUP_CPUACCT)) {
                b->plan->cpu = PLAN_CPU_RLIMIT;
                warn_unenforceable(b, "cpu_ms",
                                   "without a control group CPU time is capped for each process, "
                                   "in whole seconds, not for the tree");
                return;
        }
        b->plan->cpu = PLAN_CPU_GROUP;
        make_group(b, CGROUP_CPUACCT, "limits.cpu_ms");
        s = builder_add(b, STEP_CGROUP_WATCH,
                        builder_text(b, "%s/%s", group_of(b, CGROUP_CPUACCT),
                                     cgroup->place[CGROUP_CPUACCT].version == 2 ? "cpu.stat"
                                                                                : "cpuacct.usage"),
                        "counts the CPU time of the whole tree");
        s->number = cgroup->place[CGROUP_CPUACCT].version == 2 ? WATCH_CPU_STAT : WATCH_CPU_NS;
}

static void
plan_io(struct builder *b)
{
        static const char *const fields[] = { "io_read_bps", "io_write_bps" };
        const uint64_t values[] = { b->spec->limits.io_read_bps, b->spec->limits.io_write_bps };

        for (size_t i = 0; i < 2; i++) {
                const struct cgroup_place *place = &b->facts->cgroup.place[CGROUP_IO];
                struct step *s;

                if (values[i] == SPEC_UNSET)
                        continue;
                if (!can_limit(b, CGROUP_IO)) {
                        warn_unenforceable(b, fields[i], no_group_because(b));
                        continue;
                }
                for (size_t d = 0; d < b->request->disk_count; d++) {
                        const char *file = place->version == 2 ? "io.max"
                                           : i == 0            ? "blkio.throttle.read_bps_device"
                                                               : "blkio.throttle.write_bps_device";

                        make_group(b, CGROUP_IO, fields[i]);
                        s = builder_add(b, STEP_CGROUP_LIMIT,
                                        builder_text(b, "%s/%s", group_of(b, CGROUP_IO), file),
                                        fields[i]);
                        s->text = place->version == 2
                                          ? builder_text(b, "%s %s=%" PRIu64, b->request->disks[d],
                                                         i == 0 ? "rbps" : "wbps", values[i])
                                          : builder_text(b, "%s %" PRIu64, b->request->disks[d],
                                                         values[i]);
                        s->text_len = strlen(s->text);
                }
                if (b->request->disk_count == 0)
                        warn_unenforceable(
                                b, fields[i],
                                "no writable mount lies on a disk that could be held to it");
        }
}

bool
builder_is_written(const struct spec *spec, const char *name)
{
        return node_find(node_find(node_find(spec->metadata, "carrel"), "limits"), name) != NULL;
}

/*
 * Private places have a size. A workspace's own disk cannot be capped without privileges over it,
 * so a floor is kept free.
 */
static void
plan_disk(struct builder *b)
{
        if (b->request->has_image)
                b->plan->disk_floor_mb = FLOOR_MB;
        if (b->request->has_image && b->request->private_place &&
            builder_is_written(b->spec, "disk_mb"))
                findings_warn(b->findings, "disk_watched", "metadata/carrel/disk", 0, 0,
                              "disk_mb is watched, not a hard cap: /tmp and the home are in a "
                              "directory on the host's disk, and the sandbox is ended after it "
                              "took more");
        for (size_t i = 0; i < b->request->mount_count; i++) {
                if (b->request->mounts[i].is_read_only)
                        continue;
                b->plan->disk_floor_mb = FLOOR_MB;
                if (builder_is_written(b->spec, "disk_mb"))
                        findings_warn(b->findings, "mount_uncapped",
                                      "metadata/carrel/limits/disk_mb", 0, 0,
                                      "disk_mb limits the private places (/tmp, home); a writable "
                                      "mount may use all but the last %d MiB of its disk",
                                      FLOOR_MB);
                return;
        }
}

static void
plan_enable(struct builder *b)
{
        const struct cgroup_facts *cgroup = &b->facts->cgroup;
        bool is_v2 = false;

        for (size_t c = 0; c < CGROUP_CPUACCT; c++) /* CPU time needs no controller in v2 */
                is_v2 |= cgroup->place[c].version == 2;
        if (!is_v2 || !builder_has(b, SWITCH_LIMITS))
                return;
        if (cgroup->must_leave)
                (void)builder_add(b, STEP_CGROUP_LEAVE,
                                  builder_text(b, "%s/carrel-runtime", cgroup->unified),
                                  "a group that holds processes cannot limit children");
        for (size_t i = 0; i < cgroup->enable_count; i++) {
                static const char controllers[] = "+memory +pids +cpu +io";
                struct step *s =
                        builder_add(b, STEP_CGROUP_ENABLE,
                                    builder_text(b, "%s/cgroup.subtree_control", cgroup->enable[i]),
                                    "controllers for the box's group");

                s->text = controllers;
                s->text_len = sizeof controllers - 1;
        }
}

static const char *
living_group(struct builder *b)
{
        return builder_text(b, "%s/carrel-%s", b->facts->cgroup.unified, b->request->id);
}

static const char *
relay_group(struct builder *b)
{
        return builder_text(b, "%s/relay", living_group(b));
}

/*
 * A long-lived box is killed, frozen and counted through a v2 group, which needs no controller for
 * that.
 */
static void
plan_living(struct builder *b)
{
        const char *dir;

        if (!builder_is_kept_in_group(b))
                return;
        dir = living_group(b);
        if (!is_made(b, dir))
                (void)builder_add(b, STEP_CGROUP_MAKE, dir,
                                  "a box that stays is killed and frozen by its group");
        if (b->request->container)
                (void)builder_add(b, STEP_CGROUP_MAKE, relay_group(b),
                                  "relay and runtime: the runtime gives controllers to the group "
                                  "of the container beside it, and its parent holds no process");
}

/*
 * Compares the hierarchy, not the path prefix: v1 hierarchies may be mounted beneath the v2 root.
 */
static bool
is_unified(struct builder *b, const char *dir)
{
        for (int c = 0; c < CGROUP_CONTROLLER_MAX; c++)
                if (b->facts->cgroup.place[c].version == 2 &&
                    strcmp(group_of(b, (enum cgroup_controller)c), dir) == 0)
                        return true;
        return builder_is_kept_in_group(b) &&
               strcmp(b->request->container ? relay_group(b) : living_group(b), dir) == 0;
}

static void
plan_join(struct builder *b)
{
        size_t made = b->count;

        for (size_t i = 0; i < made; i++) {
                struct step *s;
                const char *dir = b->steps[i].path;

                if (b->steps[i].op != STEP_CGROUP_MAKE ||
                    (b->request->container && strcmp(living_group(b), dir) == 0))
                        continue;
                s = builder_add(b, STEP_CGROUP_JOIN, dir, "the box is born inside its limits");
                if (is_unified(b, dir))
                        s->flags |= STEP_UNIFIED;
        }
}

void
builder_limits(struct builder *b)
{
        if (b->request->lease_path)
                (void)builder_add(b, STEP_LEASE, b->request->lease_path,
                                  "what a killed runtime leaves is collected by the next start");
        plan_enable(b);
        plan_memory(b);
        cap_pids(b);
        plan_cpu_share(b);
        plan_cpu_time(b);
        plan_io(b);
        plan_disk(b);
        plan_living(b);
        plan_join(b);
}
