/*
 * box/ns/counters.c - the counters of a box's groups.
 *
 * Room: box/ns (program). Touches: cgroup files (reads only).
 */
#include "box/ns/counters.h"

#include <unistd.h>

#include "base/counter.h"

void
counters_init(struct counters *c)
{
        *c = (struct counters){ .pids = -1, .oom = -1, .memory = -1, .cpu = -1 };
}

/* In v2, else in v1. */
static uint64_t
memory_bytes(int fd)
{
        uint64_t own = counter_read(fd, "anon"), files = counter_read(fd, "file");

        if (own == UINT64_MAX) {
                own = counter_read(fd, "rss");
                files = counter_read(fd, "cache");
        }
        return own == UINT64_MAX || files == UINT64_MAX ? UINT64_MAX : own + files;
}

void
counters_take(struct counters *c, int take_fd)
{
        if (c->oom < 0 && counter_read(take_fd, "oom_kill") != UINT64_MAX) {
                c->oom = take_fd;
        } else if (c->pids < 0 && counter_read(take_fd, "max") != UINT64_MAX) {
                c->pids = take_fd;
        } else if (c->memory < 0 && memory_bytes(take_fd) != UINT64_MAX) {
                c->memory = take_fd;
        } else if (c->cpu < 0 && (counter_read(take_fd, "usage_usec") != UINT64_MAX ||
                                  counter_read(take_fd, "") != UINT64_MAX)) {
                c->is_cpu_stat = counter_read(take_fd, "") == UINT64_MAX;
                c->cpu = take_fd;
        } else {
                (void)close(take_fd);
        }
}

uint64_t
counters_oom_kills(const struct counters *c)
{
        return counter_read(c->oom, "oom_kill");
}

uint64_t
counters_pids_refused(const struct counters *c)
{
        return counter_read(c->pids, "max");
}

uint64_t
counters_cpu_ns(const struct counters *c)
{
        uint64_t used = counter_read(c->cpu, c->is_cpu_stat ? "usage_usec" : "");

        return used == UINT64_MAX ? used : c->is_cpu_stat ? used * 1000 : used;
}

uint64_t
counters_memory_kb(const struct counters *c)
{
        uint64_t bytes = memory_bytes(c->memory);

        return bytes == UINT64_MAX ? bytes : bytes >> 10;
}
