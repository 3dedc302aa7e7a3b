/*
 * host/cgroups.h - where this process may make control groups, and what they can limit.
 *
 * Layouts differ much: pure v2, v1 only, hybrid (limits on v1, kill and freeze on v2), a container that sees a
 * part of the tree, a rootless user to whom a part was delegated. cgroup_facts_parse() therefore works on bytes
 * and questions given to it, so that each layout is a fixture; cgroup_facts_read() asks the machine.
 *
 * Sources: cgroups(7), the kernel's admin-guide/cgroup-v2 (no internal processes, delegation containment).
 */
#ifndef CARREL_HOST_CGROUPS_H
#define CARREL_HOST_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/host_facts.h"

/* The questions the parser may ask. Paths are absolute and NUL-terminated. */
struct cgroup_probe {
        bool (*exists)(void *data, const char *path);
        bool (*is_writable)(void *data, const char *path);
        /* Reads at most room - 1 bytes and ends them with a NUL; answers the length, or -1. */
        int (*read)(void *data, const char *path, char *buf, size_t room);
        void *data;
        bool is_root;             /* effective uid 0 */
        unsigned release;         /* kernel, major * 1000 + minor: decides where no existing group can be looked at */
        long self_pid;            /* as cgroup.procs prints it */
};

/*
 * Fills *ret from the text of /proc/self/cgroup and /proc/self/mountinfo (both NUL-terminated, borrowed) and the
 * probe. Never fails: what cannot be had has version 0, and why_none says why where nothing can be limited.
 * Every directory named in *ret exists already. Anything in `parent` of v2 equals `unified`.
 */
void cgroup_facts_parse(struct cgroup_facts *ret, const char *cgroup_text, const char *mountinfo_text,
                        const struct cgroup_probe *probe);

/* The same from this machine, asked with faccessat(AT_EACCESS). `release` as in the probe. */
void cgroup_facts_read(struct cgroup_facts *ret, unsigned release);

/* "memory", "pids", "cpu", "io", "cpuacct" */
const char *cgroup_controller_name(enum cgroup_controller controller);

#endif
