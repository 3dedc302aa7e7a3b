/*
 * plan/host_facts.h - what the planner must know of this machine. The room `host` fills it; tests invent it.
 *
 * Two depths: host_facts_read() looks (a few dozen microseconds; `carrel run` uses it), host_try_all() tries
 * each mechanism in a child (`carrel doctor`). A mechanism that looks present and then fails makes its step
 * fail, and a failed step refuses: facts never decide safety, only wording and choice.
 */
#ifndef CARREL_PLAN_HOST_FACTS_H
#define CARREL_PLAN_HOST_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FACTS_PATH_MAX = 512 };

/* The five things a control group does for us, each of which may live in another hierarchy. */
enum cgroup_controller {
        CGROUP_MEMORY,
        CGROUP_PIDS,
        CGROUP_CPU,            /* quota or weight */
        CGROUP_IO,             /* v1 calls it blkio */
        CGROUP_CPUACCT,        /* CPU time used; in v2 every group has cpu.stat */
        CGROUP_CONTROLLER_MAX
};

struct cgroup_place {
        int version;                     /* 1, 2, or 0: not to be had */
        char parent[FACTS_PATH_MAX];     /* absolute directory under which we may make one of our own */
        bool is_limited;                 /* present, but without the file that sets a hard limit (cpu: no cfs quota) */
        bool is_swap_limited;            /* memory: swap can be capped as well */
        bool is_socket_limited;          /* memory: buffers of sockets are counted and can be capped (v2: always) */
};

struct cgroup_facts {
        struct cgroup_place place[CGROUP_CONTROLLER_MAX];
        char unified[FACTS_PATH_MAX];    /* parent in the v2 hierarchy, "" if none is writable */
        bool has_kill;                   /* v2 cgroup.kill (5.14) */
        bool has_freeze;
        char freezer[FACTS_PATH_MAX];    /* v1 freezer parent, "" if none */
        /* v2 only: directories, outermost first, in whose cgroup.subtree_control the controllers must be enabled */
        char enable[4][FACTS_PATH_MAX];
        size_t enable_count;
        bool must_leave;                 /* v2: we sit in `unified` ourselves and must move to a leaf first */
        const char *why_none;            /* a sentence, where nothing can be limited; else NULL */
};

/* One name of the host that is shown inside, and how it must look there. */
struct host_dir {
        const char *path;                /* "/usr", "/bin", ... */
        bool is_link;                    /* /bin -> usr/bin */
        char target[128];                /* of the link */
};

/* The kernel's lists of processors, as in /sys/devices/system/cpu: "0-3,8-11"; "" where it does not say, or not so. */
enum { HOST_CPUS_MAX = 128 };
struct host_cpus { char possible[HOST_CPUS_MAX], present[HOST_CPUS_MAX], online[HOST_CPUS_MAX]; };

enum { HOST_DIRS_MAX = 12, HOST_ETC_MAX = 72 };

struct host_facts {
        char kernel[65];                 /* uname -r */
        char machine[65];                /* uname -m */
        unsigned cpu_count;
        struct host_cpus cpus;
        uint64_t memory_mb;
        uint32_t uid, gid;               /* effective */
        bool is_privileged;              /* uid 0 with the capabilities to prepare a box for another uid */
        unsigned extra_group_count;      /* supplementary groups a rootless box cannot drop */
        unsigned landlock_abi;           /* 0: no Landlock */
        bool has_seccomp, has_user_ns, has_openat2, has_clone3, has_mount_api, has_idmap, has_pidfd, has_close_range;
        bool has_wall;                   /* both families of addresses, which the wall of network.egress catches (wall/wall.h) */
        struct host_dir dirs[HOST_DIRS_MAX];     size_t dir_count;
        struct host_dir etc[HOST_ETC_MAX];       size_t etc_count;   /* settings under /etc and /var that exist and may be shown; a link into /usr is made again */
        struct cgroup_facts cgroup;
        char runtime_dir[FACTS_PATH_MAX];        /* for leases: /run/carrel, $XDG_RUNTIME_DIR/carrel or /tmp/carrel-UID */
};

#endif
