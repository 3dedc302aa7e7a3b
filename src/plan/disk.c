/*
 * plan/disk.c - where a sandbox's private places are stored: in memory, or in an image of fixed
 * size on a disk.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 * Theory: a tmpfs is created at once and the kernel enforces its size, on every host and for every
 * user, so it is the default. But its content counts against memory_mb: with 512 MiB, a package
 * cache of 600 MiB ends the command as oom_killed. So `auto` uses an image if the private places
 * may grow larger than the memory available to them. That is memory_mb (if a control group enforces
 * it) or, if disk_mb is written, half of the machine's memory. An image makes a start 1 ms and an
 * end 1 ms longer (maker/image.c), so it is not the default for every sandbox. The kernel enforces
 * its size too. /dev/shm and /run are always memory; beside an image they have their own cap.
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

bool
plan_wants_image(const struct spec *spec, const struct host_facts *facts)
{
        uint64_t mib = plan_disk_mb(spec), half = facts->memory_mb / 2;

        if (spec->carrel.disk != SPEC_DISK_AUTO)
                return spec->carrel.disk == SPEC_DISK_IMAGE;
        if (!facts->is_privileged || mib > PLAN_IMAGE_MB_MAX)
                return false;
        return (is_memory_held(spec, facts) && mib > spec->limits.memory_mb) ||
               (half > 0 && mib > half && builder_is_written(spec, "disk_mb"));
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
