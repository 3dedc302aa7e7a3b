/*
 * maker/host.h - the HOST steps: runs and undoes the work outside the box, before the box's first
 * process exists.
 */
#ifndef CARREL_MAKER_HOST_H
#define CARREL_MAKER_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "maker/namespace.h"
#include "maker/watched.h"
#include "plan/pack.h"
#include "volume/volume.h"
#include "wire/box.h"

enum { MAKER_KEEPER = 3 /* the socket of who started it */ };
enum { HOST_JOINS_MAX = 8, HOST_WATCHES_MAX = 8, HOST_HELD_MAX = 65 };

struct host {
        const struct plan_view *view;
        void *packed;
        size_t packed_len; /* for the lease */
        int *sources;      /* descriptors that came with the plan */
        unsigned char is_tree[PLAN_SOURCES_MAX];
        uint32_t box_uid, box_gid; /* ids of the box outside; copied ahead from the MAP steps */
        bool has_relay;            /* pid 1 is in a container or a machine */
        bool has_range; /* these are the first of STEP_RANGE_IDS; this process maps them */
        uint32_t payload_uid, payload_gid; /* of its commands, outside */
        int mapped[2]; /* a pipe: the box reads a byte once its ids are mapped; -1 if none */
        int layers[PLAN_SOURCES_MAX]; /* locked, in use while the box lives */
        size_t layer_count;
        const char *lease_path;
        const char *runtime;           /* the program of a container runtime; NULL: none */
        const char *runtime_directory; /* of a container runtime; NULL: none */
        int lease;                     /* -1 if none */
        /* `tasks` files of v1 groups; the first process writes "0" to them */
        int joins[HOST_JOINS_MAX];
        size_t join_count;
        int unified; /* v2 group to clone into, -1 if none */
        int watches[HOST_WATCHES_MAX];
        size_t watch_count;
        uint8_t watch_kinds[HOST_WATCHES_MAX];
        int image; /* the private disk, a detached mount until the box attaches it; -1 if none */
        struct watched watched; /* or a directory for it, which the box attaches by its path */
        int prepared;           /* a detached clone of a root that a spawner keeps; -1 if none */
        int oom;                /* becomes readable when a v1 group is out of memory; -1 if none */
        struct namespace_sockets sockets; /* of a virtual machine's wall, until its box has them */
        struct volume_use volumes[HOST_HELD_MAX];
        size_t volume_count;
        uint64_t namespaces; /* of the SPAWN step, without the cgroup namespace */
        int wants_cgroup_ns;
        uint64_t last_ms; /* from the SPAWN step: the longest life of the box in ms, 0: no limit */
        bool looks_at_leases; /* looks at other leases, for groups that killed makers left */
        uint32_t done;        /* number of steps that succeeded, for the undo */
};

/* `control` is the box's end of its socket, which its wall is sent over. */
void host_init(struct host *h, const struct plan_view *view, int control, int *sources);

/*
 * The process `pid` moves with this one and its parent when a step moves the runtime to a leaf: it
 * is in the same group. Once for a process, before its steps.
 */
void host_leave_with(pid_t pid);

/* Runs one step of the HOST phase. Returns 0 or -errno; -ENOTSUP for a step of another phase. */
int host_step(struct host *h, const struct step *s);

/* Reads the counters of the box's groups into `ended`. */
void host_count(const struct host *h, struct wire_box_ended *ended);

/* Undoes every step that was done, and closes all descriptors. */
void host_fini(struct host *h);

#endif
