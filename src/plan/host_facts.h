/*
 * plan/host_facts.h - what the planner must know about this machine. The room `host` fills it;
 * tests invent it.
 *
 * There are two depths. host_facts_read() reads what is present (a few dozen microseconds; `carrel
 * run` uses it). host_try_all() tries each mechanism in a child (`carrel doctor`). If a mechanism
 * is present but fails, its step fails, and a failed step refuses the run. So facts never decide
 * safety; they only decide wording and choice.
 */
#ifndef CARREL_PLAN_HOST_FACTS_H
#define CARREL_PLAN_HOST_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FACTS_PATH_MAX = 512 };

/* The five functions of a control group. Each may be in another hierarchy. */
enum cgroup_controller {
        CGROUP_MEMORY,
        CGROUP_PIDS,
        CGROUP_CPU,     /* quota or weight */
        CGROUP_IO,      /* v1 calls it blkio */
        CGROUP_CPUACCT, /* CPU time used; in v2 every group has cpu.stat */
        CGROUP_CONTROLLER_MAX
};

struct cgroup_place {
        int version;                 /* 1, 2, or 0: not available */
        char parent[FACTS_PATH_MAX]; /* absolute directory in which we may create a group */
        bool is_limited; /* present, but without the file for a hard limit (cpu: no cfs quota) */
        bool is_swap_limited; /* memory: swap can be capped as well */
        /* memory: socket buffers are counted and can be capped (v2: always) */
        bool is_socket_limited;
};

struct cgroup_facts {
        struct cgroup_place place[CGROUP_CONTROLLER_MAX];
        char unified[FACTS_PATH_MAX]; /* parent in the v2 hierarchy, "" if none is writable */
        bool has_kill;                /* v2 cgroup.kill (5.14) */
        bool has_freeze;
        char freezer[FACTS_PATH_MAX]; /* v1 freezer parent, "" if none */
        /* v2 only: directories, outermost first, in whose cgroup.subtree_control the controllers
         * must be enabled */
        char enable[4][FACTS_PATH_MAX];
        size_t enable_count;
        bool must_leave; /* v2: this process is itself in `unified` and must first move to a leaf */
        const char *why_none; /* a sentence, if nothing can be limited; else NULL */
};

/* One host path that is shown inside, and how it must look there. */
struct host_dir {
        const char *path; /* "/usr", "/bin", ... */
        bool is_link;     /* /bin -> usr/bin */
        char target[128]; /* of the link */
};

/*
 * The kernel's processor lists, as in /sys/devices/system/cpu: "0-3,8-11". "" if the kernel does
 * not give one, or gives another format.
 */
enum { HOST_CPUS_MAX = 128 };
struct host_cpus {
        char possible[HOST_CPUS_MAX], present[HOST_CPUS_MAX], online[HOST_CPUS_MAX];
};

enum { HOST_DIRS_MAX = 12, HOST_ETC_MAX = 72 };

struct host_facts {
        char kernel[65];  /* uname -r */
        char machine[65]; /* uname -m */
        unsigned cpu_count;
        struct host_cpus cpus;
        uint64_t memory_mb;
        uint32_t uid, gid;  /* effective */
        bool is_privileged; /* uid 0 with the capabilities to prepare a box for another uid */
        unsigned extra_group_count; /* supplementary groups that a rootless box cannot drop */
        unsigned landlock_abi;      /* 0: no Landlock */
        bool has_seccomp, has_user_ns, has_openat2, has_clone3, has_mount_api, has_idmap, has_pidfd,
                has_close_range;
        /* both address families, which the wall of network.egress intercepts (wall/wall.h) */
        bool has_wall;
        struct host_dir dirs[HOST_DIRS_MAX];
        size_t dir_count;
        /* settings in /etc and /var that exist and may be shown; a link into /usr is created
         * again */
        struct host_dir etc[HOST_ETC_MAX];
        size_t etc_count;
        struct cgroup_facts cgroup;
        char runtime_dir[FACTS_PATH_MAX]; /* for leases: /run/carrel, $XDG_RUNTIME_DIR/carrel or
                                             /tmp/carrel-UID */
        const char *machine_kernel; /* what the host file names, for `carrel doctor`; or NULL */
};

#endif
