/*
 * guest/tree.h - finds every process below some of pid 1's children in /proc, and kills them.
 *
 * /proc inside shows the box's own pid namespace. One pass is no snapshot: it misses a process that
 * forks and ends between two entries. So a pass that found nothing does not prove that a tree is
 * dead. There are two proofs: the root above it has ended (a reaper ends when nothing is left below
 * it), or a pass found nothing while all processes were stopped.
 */
#ifndef CARREL_GUEST_TREE_H
#define CARREL_GUEST_TREE_H

#include <stddef.h>
#include <sys/types.h>

/* One child of pid 1, and what to do with its descendants. */
struct tree_root {
        pid_t pid;
        unsigned char is_dying;    /* in: kill all its descendants */
        unsigned char is_included; /* in: and the root itself */
        unsigned living;           /* out: matching processes that were alive */
};

struct tree_strays {       /* descendants of pid 1 without a root in the table */
        unsigned is_dying; /* in: kill them */
        unsigned living;   /* out */
        unsigned unknown;  /* out: processes whose parents were not found, of any
                            * tree */
};

/* Its parent as /proc says it now; 0: not known. */
pid_t tree_parent(pid_t pid);

/*
 * Does one pass over /proc. Sends SIGKILL to every process of a dying root, and to strays if they
 * are to die.
 *
 * `is_frozen`: stops all processes inside, except the caller, before the pass, and wakes them
 * after, so that none is missed. Only pid 1 of a namespace can do this; elsewhere it is skipped,
 * because it would stop too much. A pass that takes long also stops them unasked: the processes
 * inside then leave pid 1 too little time. Returns 1: all were stopped; 0: not; -errno: /proc
 * cannot be read.
 */
int tree_pass(struct tree_root *roots, size_t count, struct tree_strays *strays, int is_frozen);

#endif
