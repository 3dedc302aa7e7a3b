/*
 * plan/disk.c - where a sandbox's private places are stored: in memory, in an image of fixed size
 * on a disk, or in a directory that is watched.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 * Theory: a tmpfs is created at once and the kernel enforces its size, on every host and for every
 * user, so it is the default. But its content counts against memory_mb: with 512 MiB, a package
 * cache of 600 MiB ends the command as oom_killed. So `auto` uses an image if the private places
 * may grow larger than the memory available to them. That is memory_mb (if a control group enforces
 * it) or, if disk_mb is written, half of the machine's memory. An image makes a start 0.5 ms and an
 * end 0.3 ms longer, and several ms if all processors are busy (maker/image.c), so it is not the
 * default for every sandbox. The kernel enforces its size too. Only root can mount one: for an
 * ordinary user `auto` uses a private directory under the same rule, and the size of that is
 * watched. /dev/shm and /run are always memory; beside an image or a directory they have their own
 * cap.
 */
#include "plan/disk.h"

#include "plan/builder.h"

static bool
is_memory_held(const struct spec *spec, const struct host_facts *facts)
{
        const struct cgroup_place *place = &facts->cgroup.place[CGROUP_MEMORY];

        return spec->limits.memory_mb != SPEC_UNSET && place->version != 0 && !place->is_limited;
}

uint64_t
plan_disk_mb(const struct spec *spec)
{
        return spec->limits.disk_mb == SPEC_UNSET ? SPEC_DISK_MB : spec->limits.disk_mb;
}

/* What root installs in an image is often larger than the memory of its sandbox. */
static bool
outgrows_memory(const struct spec *spec, const struct host_facts *facts)
{
        uint64_t mib = plan_disk_mb(spec), half = facts->memory_mb / 2;

        return (spec->image && spec_is_root(spec)) ||
               (is_memory_held(spec, facts) && mib > spec->limits.memory_mb) ||
               (half > 0 && mib > half && builder_is_written(spec, "disk_mb"));
}

enum spec_disk
plan_disk_form(const struct spec *spec, const struct host_facts *facts)
{
        bool fits_image = plan_disk_mb(spec) <= PLAN_IMAGE_MB_MAX;

        switch (spec->carrel.disk) {
        case SPEC_DISK_AUTO:
                if (!outgrows_memory(spec, facts) || (facts->is_privileged && !fits_image))
                        return SPEC_DISK_MEMORY;
                return facts->is_privileged ? SPEC_DISK_IMAGE : SPEC_DISK_DIRECTORY;
        case SPEC_DISK_DISK:
                return facts->is_privileged && fits_image ? SPEC_DISK_IMAGE : SPEC_DISK_DIRECTORY;
        default:
                return spec->carrel.disk;
        }
}

/*
 * They are memory. Without a written size they are at most half of the machine's memory, like a
 * tmpfs without a size.
 */
uint64_t
plan_memory_disk_mb(const struct spec *spec, const struct host_facts *facts)
{
        uint64_t mib = plan_disk_mb(spec), half = facts->memory_mb / 2;

        return half > 0 && mib > half && !builder_is_written(spec, "disk_mb") ? half : mib;
}

/*
 * Half of the memory that the sandbox may use, like a tmpfs without a size; never more than it
 * could have without an image.
 */
uint64_t
plan_shared_memory_mb(const struct spec *spec, const struct host_facts *facts)
{
        uint64_t most = plan_memory_disk_mb(spec, facts),
                 half = (is_memory_held(spec, facts) ? spec->limits.memory_mb : facts->memory_mb) /
                        2;

        return half == 0 ? 1 : half < most ? half : most;
}

const char *
plan_disk_name(const struct plan *plan)
{
        return plan->is_watched ? "directory" : plan->is_on_image ? "image" : "memory";
}
