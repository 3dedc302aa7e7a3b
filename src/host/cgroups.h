/*
 * host/cgroups.h - where this process may create control groups, and what they can limit.
 *
 * Layouts differ: pure v2, v1 only, hybrid (limits on v1, kill and freeze on v2), a container that
 * sees part of the tree, a rootless user with a delegated subtree. cgroup_facts_parse() therefore
 * works on bytes and callbacks, so that each layout is a fixture. cgroup_facts_read() uses the
 * machine.
 *
 * Sources: cgroups(7), the kernel's admin-guide/cgroup-v2 (no internal processes, delegation
 * containment).
 */
#ifndef CARREL_HOST_CGROUPS_H
#define CARREL_HOST_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/host_facts.h"

/* Callbacks of the parser. Paths are absolute and NUL-terminated. */
struct cgroup_probe {
        bool (*exists)(void *data, const char *path);
        bool (*is_writable)(void *data, const char *path);
        /* Reads at most room - 1 bytes and adds a NUL. Returns the length, or -1. */
        int (*read)(void *data, const char *path, char *buf, size_t room);
        void *data;
        bool is_root; /* effective uid 0 */
        /* kernel, major * 1000 + minor: used if there is no existing group to examine */
        unsigned release;
        long self_pid; /* as cgroup.procs prints it */
};

/*
 * Fills *ret from the text of /proc/self/cgroup and /proc/self/mountinfo (both NUL-terminated,
 * borrowed) and the probe. Never fails: what is unavailable has version 0, and why_none gives the
 * reason if nothing can be limited. Every directory named in *ret exists already. In v2 each
 * `parent` equals `unified`.
 */
void cgroup_facts_parse(struct cgroup_facts *ret, const char *cgroup_text,
                        const char *mountinfo_text, const struct cgroup_probe *probe);

/* The same for this machine, tested with faccessat(AT_EACCESS). `release` as in the probe. */
void cgroup_facts_read(struct cgroup_facts *ret, unsigned release);

/* "memory", "pids", "cpu", "io", "cpuacct" */
const char *cgroup_controller_name(enum cgroup_controller controller);

#endif
