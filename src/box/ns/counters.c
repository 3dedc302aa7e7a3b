/*
 * box/ns/counters.c - the counters of a box's groups.
 *
 * Room: box/ns (program). Touches: cgroup files (reads only).
 */
#include "box/ns/counters.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_ROOM = 512 };

void
counters_init(struct counters *c)
{
        *c = (struct counters){ .pids = -1, .oom = -1, .cpu = -1 };
}

/* The number after `key `, or of the whole file with ""; UINT64_MAX if not found. */
static uint64_t
read_counter(int fd, const char *key)
{
        char text[TEXT_ROOM];
        ssize_t len = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;
        const char *at = text;

        if (len <= 0)
                return UINT64_MAX;
        text[len] = '\0';
        while (key[0] != '\0' && (strncmp(at, key, strlen(key)) != 0 || at[strlen(key)] != ' ')) {
                at = strchr(at, '\n');
                if (!at)
                        return UINT64_MAX;
                at++;
        }
        at += key[0] != '\0' ? strlen(key) + 1 : 0;
        return *at >= '0' && *at <= '9' ? strtoull(at, NULL, 10) : UINT64_MAX;
}

void
counters_take(struct counters *c, int take_fd)
{
        if (c->oom < 0 && read_counter(take_fd, "oom_kill") != UINT64_MAX) {
                c->oom = take_fd;
        } else if (c->pids < 0 && read_counter(take_fd, "max") != UINT64_MAX) {
                c->pids = take_fd;
        } else if (c->cpu < 0 && (read_counter(take_fd, "usage_usec") != UINT64_MAX ||
                                  read_counter(take_fd, "") != UINT64_MAX)) {
                c->is_cpu_stat = read_counter(take_fd, "") == UINT64_MAX;
                c->cpu = take_fd;
        } else {
                (void)close(take_fd);
        }
}

uint64_t
counters_oom_kills(const struct counters *c)
{
        return read_counter(c->oom, "oom_kill");
}

uint64_t
counters_pids_refused(const struct counters *c)
{
        return read_counter(c->pids, "max");
}

uint64_t
counters_cpu_ns(const struct counters *c)
{
        uint64_t used = read_counter(c->cpu, c->is_cpu_stat ? "usage_usec" : "");

        return used == UINT64_MAX ? used : c->is_cpu_stat ? used * 1000 : used;
}
