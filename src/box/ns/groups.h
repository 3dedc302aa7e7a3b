/*
 * box/ns/groups.h - a control group for every exec, beneath the box's own: to kill, to count, and
 * to freeze all together.
 *
 *     carrel-ID            pid 1, with the limits
 *       work               frozen and thawed; excludes pid 1, which reports also while frozen
 *         g0, g1, ...      one per exec, used again once it is empty
 *
 * Pid 1 is not frozen, so it can report ended execs and connect to ports in a frozen box. In a
 * container it is: the runtime makes one group for all. So it is in a virtual machine, with the
 * relay: QEMU is frozen.
 */
#ifndef CARREL_BOX_NS_GROUPS_H
#define CARREL_BOX_NS_GROUPS_H

#include <stddef.h>
#include <stdint.h>

/* if each has a live process, no further exec starts */
enum { GROUPS_MAX = 2048 };

struct group {
        struct group *next;
        unsigned number;
        int members;            /* its cgroup.procs, open while the group is owned; -1: could
                                 * not be opened */
        int events, used;       /* cgroup.events and cpu.stat, open for the first few groups;
                                 * else -1 */
        uint64_t cpu_before_us; /* used by earlier execs of this group */
        uint64_t cpu_seen_us;   /* at the last read */
};

struct groups {
        int root, work, events;    /* directories, and cgroup.events of what is frozen; -1: no
                                    * groups, and nothing below works */
        struct group *idle, *left; /* empty groups, and groups with a live process of an ended
                                    * exec */
        unsigned made;
        const char
                *whole; /* all is frozen together, in this directory of `root`; NULL: it is not */
        unsigned can_freeze;
};

/*
 * `take_root`: the box's v2 directory, or -1. 0, or -errno if groups are not possible; the box then
 * runs without them.
 */
int groups_open(struct groups *g, int take_root);

/*
 * The same for a container or a virtual machine: commands have no group of their own, and all of
 * them are frozen with pid 1, in the group `below` (static: "", or "NAME/"). Only groups_freeze(),
 * groups_is_frozen() and groups_box_cpu_us() work.
 */
void groups_open_whole(struct groups *g, int take_root, const char *below);
void groups_fini(struct groups *g);

/*
 * An empty group. NULL: no groups, or none can be created. groups_give() returns it; a process that
 * still runs in it prevents reuse.
 */
struct group *groups_take(struct groups *g);
void groups_give(struct groups *g, struct group *take);

/* Returns the group only if no process runs in it: 1. Otherwise 0, and the caller keeps it. */
int groups_give_empty(struct groups *g, struct group *of);

/* Returns a group that the caller saw empty, and whose CPU time was read afterwards. */
void groups_give_settled(struct groups *g, struct group *take);

int groups_kill(const struct groups *g, const struct group *of);
/* also what forgotten execs left behind */
int groups_kill_all(const struct groups *g);
int groups_is_empty(const struct groups *g, const struct group *of);
/* Is it the group with this id of cgroup v2? */
int groups_is(const struct groups *g, const struct group *of, uint64_t id);
/* Does a process run in one of the groups that were returned? Of more than a few: assumed. */
int groups_has_left(const struct groups *g);

/* CPU time of the exec's whole tree, or of the box, in us. UINT64_MAX: not counted. */
uint64_t groups_cpu_us(const struct groups *g, struct group *of);
uint64_t groups_box_cpu_us(const struct groups *g);

/*
 * Freezing is asynchronous: `events` becomes readable with EPOLLPRI. groups_is_frozen(): 0, 1 or
 * -errno.
 */
int groups_freeze(struct groups *g, int is_wanted);
int groups_is_frozen(const struct groups *g);

#endif
