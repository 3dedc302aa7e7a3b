/*
 * plan/step.h - one action of a plan, as a value.
 */
#ifndef CARREL_PLAN_STEP_H
#define CARREL_PLAN_STEP_H

#include <stddef.h>
#include <stdint.h>

enum step_phase { STEP_PHASE_HOST, STEP_PHASE_BOX, STEP_PHASE_GUEST };

enum step_op {
#define STEP(name, wire, phase, arguments, undo, safe) STEP_##name,
#include "plan/steps.def"
#undef STEP
        STEP_MAX
};

enum step_flag {
        STEP_READ_ONLY = 1u << 0,
        STEP_RECURSIVE = 1u << 1, /* with the mounts beneath it */
        STEP_NO_EXEC = 1u << 2,
        STEP_DIRECTORY = 1u << 3, /* the object is a directory, else a file */
        STEP_OPTIONAL = 1u << 4,  /* skips a missing object: used only if its absence is as safe */
        STEP_UNIFIED = 1u << 5,   /* a v2 group: the box is created in it with clone3 */
        STEP_SUID = 1u << 6,      /* tests only: without nosuid */
        STEP_DEV = 1u << 7,       /* tests only: without nodev */
        /* RLIMIT of open files: soft limit STEP_FILES_SOFT, which a process may raise to the
         * hard limit */
        STEP_SOFT = 1u << 8,
        STEP_HELD = 1u << 9,      /* a volume: must be the inode that its VOLUME step opened */
        STEP_ON_IMAGE = 1u << 10, /* a private place: on the image or in the private directory,
                                      else in the scratch tmpfs */
        /* may be taken from a root that was prepared with the same steps; of a private place, the
         * directory where it is attached */
        STEP_SHARED = 1u << 11,
        STEP_RANGE = 1u << 12, /* MAP_UID, MAP_GID: STEP_RANGE_IDS ids; the maker writes the map */
        STEP_REPLACE = 1u << 13, /* FILE: in place of what the image has there */
        /* PRIVATE: belongs to the uid and gid number2 inside; ROOTFS: root inside may write it */
        STEP_OWNED = 1u << 14,
        STEP_BY_RUNTIME = 1u << 15, /* the container runtime does it, as its config.json says */
};

/*
 * Which file of a group CGROUP_WATCH reads. OOM_CONTROL also ends the box at the first
 * out-of-memory kill.
 */
enum step_watch {
        WATCH_CPU_NS = 1,
        WATCH_CPU_STAT,
        WATCH_OOM_CONTROL,
        WATCH_MEMORY_EVENTS,
        WATCH_PEAK,
        WATCH_PIDS_EVENTS,
        WATCH_MEMORY_STAT
};

/* LANDLOCK_ALLOW classes. */
enum step_access { ACCESS_READ = 1, ACCESS_WRITE, ACCESS_DEVICE, ACCESS_PROC };

/* FILTER numbers. */
enum step_filter {
        STEP_FILTER_DEFAULT = 1,
        STEP_FILTER_NO_UNIX,
        /* these two ask pid 1; with number2 1 it reports each execve */
        STEP_FILTER_ROOT,
        STEP_FILTER_ROOT_NO_UNIX,
        STEP_FILTER_ONE_ID,
        STEP_FILTER_ONE_ID_NO_UNIX,
};

enum {
        STEP_NO_SOURCE = -1,
        STEP_RANGE_IDS = 65536,
        STEP_FILES_SOFT = 1024 /* as in systemd: select(2) cannot use more */
};

/* number of CONTAINER */
enum step_container {
        STEP_UNIFIED_ALONE = 1u << 0, /* the runtime is shown the v2 hierarchy of groups alone */
        STEP_NESTED = 1u << 1 /* it has no right outside of the maker's child's namespaces */
};

struct step {
        enum step_op op;
        unsigned flags; /* enum step_flag */
        int source;     /* index into the plan's sources, or STEP_NO_SOURCE */
        uint64_t number, number2;
        const char *path; /* never NULL; "" if none */
        const char *text; /* never NULL; NUL-terminated, text_len bytes */
        size_t text_len;
        const char *why; /* why the plan has this step; "" after unpacking */
};

/* Facts of the table. `op` must be below STEP_MAX. */
const char *step_name(enum step_op op);
enum step_phase step_phase_of(enum step_op op);
const char *step_phase_name(enum step_phase phase);
const char *step_arguments(enum step_op op);
const char *step_undo(enum step_op op);
const char *step_safe(enum step_op op);

#endif
