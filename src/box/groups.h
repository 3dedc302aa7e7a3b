/*
 * box/groups.h - a control group of its own for every exec, beneath the box's: to kill, to count, and all together to freeze.
 *
 *     carrel-ID            pid 1, held to the limits
 *       work               frozen and thawed; pid 1 is not in it, so ends are told and ports answer in a frozen box too
 *         g0, g1, ...      one an exec, used again once it is empty
 */
#ifndef CARREL_BOX_GROUPS_H
#define CARREL_BOX_GROUPS_H

#include <stddef.h>
#include <stdint.h>

enum { GROUPS_MAX = 2048 };      /* every one with something alive in it: then no other exec is begun */

struct group {
        struct group *next;
        unsigned number;
        int members;                   /* its cgroup.procs, open for as long as the group is ours; -1: could not be opened */
        int events, used;              /* cgroup.events and cpu.stat, open for the first few groups; -1 */
        uint64_t cpu_before_us;        /* used by those who had it earlier */
        uint64_t cpu_seen_us;          /* as it was read last */
};

struct groups {
        int root, work, events;        /* directories, and cgroup.events of `work`; -1: none, and nothing below works */
        struct group *idle, *left;     /* empty ones, and those in which something of an ended exec still runs */
        unsigned made;
        unsigned can_freeze;
};

/* `take_root`: the box's v2 directory, or -1. 0; -errno where there can be no groups, which is no failure of the box. */
int groups_open(struct groups *g, int take_root);
void groups_fini(struct groups *g);

/* An empty group, or NULL: there are no groups, or none is to be had. groups_give() takes it back; who still runs in it keeps it from being used again. */
struct group *groups_take(struct groups *g);
void groups_give(struct groups *g, struct group *take);

/* Takes it back only where nothing runs in it any more: 1, else 0 and it stays the caller's. */
int groups_give_empty(struct groups *g, struct group *of);

/* Takes it back: it was seen empty, and its CPU time was read after that. */
void groups_give_settled(struct groups *g, struct group *take);

int groups_kill(const struct groups *g, const struct group *of);
int groups_kill_all(const struct groups *g);                   /* also what was left by execs that are forgotten */
int groups_is_empty(const struct groups *g, const struct group *of);

/* CPU time of the exec's whole tree, or of the box; UINT64_MAX where nothing counts. */
uint64_t groups_cpu_us(const struct groups *g, struct group *of);
uint64_t groups_box_cpu_us(const struct groups *g);

/* Freezing takes its time: `events` becomes readable with EPOLLPRI. is_frozen: 0, 1 or -errno. */
int groups_freeze(const struct groups *g, int is_wanted);
int groups_is_frozen(const struct groups *g);

#endif
