/*
 * guest/tree.h - every process below some of pid 1's children, found in /proc and killed.
 *
 * /proc inside shows the box's own pid namespace. A look is no snapshot: who forks and ends between two lines of it is not seen. So a tree
 * is not dead because a look found nothing, but because the root above it has ended (a reaper ends when nothing is left below it), or
 * because a look found nothing while everything stood still.
 */
#ifndef CARREL_GUEST_TREE_H
#define CARREL_GUEST_TREE_H

#include <stddef.h>
#include <sys/types.h>

/* One child of pid 1 and what shall happen to what is below it. */
struct tree_root {
        pid_t pid;
        unsigned char is_dying;        /* in: kill everything below it */
        unsigned char is_included;     /* in: and the root itself */
        unsigned living;               /* out: processes that were found alive and are meant */
};

struct tree_strays {                   /* what descends from pid 1 but from no root */
        unsigned is_dying;             /* in: kill it */
        unsigned living;               /* out */
        unsigned unknown;              /* out: processes whose parents were not found, whosever they are */
};

/*
 * One look at /proc, and SIGKILL for every process of a dying root, and for strays where they are to die. With `is_frozen` everything inside but
 * ourselves is stopped before and woken after, so that nothing is missed; in a process that is not pid 1 of a namespace that asks
 * too much and is not done. Where looking takes long it is done unasked: then those inside leave us no time. 1 where everything stood
 * still, 0 where not, or -errno where /proc cannot be read.
 */
int tree_pass(struct tree_root *roots, size_t count, struct tree_strays *strays, int is_frozen);

#endif
