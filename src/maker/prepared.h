/*
 * maker/prepared.h - roots that a spawner keeps, so that a box is given a clone in place of some
 * hundred steps.
 *
 *     spawner --forks--> maker: no kept root fits --> its box executes the steps
 *        ^                 |  forks
 *        |                 v
 *        +---WIRE_ROOT--- builder: executes the shared steps in a mount namespace of its own, ends
 *
 *     spawner --forks--> maker: a kept root fits --> enters that namespace, clones its mounts,
 *                          returns --> its box attaches the clone, and executes the other steps
 *
 * A kept root fits a plan if its shared steps (STEP_SHARED) are the same, byte by byte, and each
 * path of the host that they bind still leads to the same inode. Any change of the host's mounts
 * drops all of them. Nothing in a kept root can be written by anybody: its file system is
 * read-only, and its files belong to no user of a sandbox.
 */
#ifndef CARREL_MAKER_PREPARED_H
#define CARREL_MAKER_PREPARED_H

#include <stddef.h>

#include "plan/pack.h"

/* Descriptors that a maker receives for this, at most. */
enum { PREPARED_KEPT_MAX = 8, PREPARED_FDS_MAX = PREPARED_KEPT_MAX + 1 };

/* -- in the spawner */

/* Begins to keep roots. Without privileges, or if something is missing, none is ever kept. */
void prepared_begin(void);

/*
 * Waits until the socket can be read. Meanwhile a change of the host's mounts drops all roots: what
 * the host unmounted is not in use by them.
 */
void prepared_wait(int socket);

/*
 * Before a maker is forked: takes in the root that a builder has sent, and drops all if the mounts
 * of the host have changed.
 */
void prepared_refresh(void);

/* -- in a maker */

/* Writes the descriptors to keep to `ret`. Returns how many, at most PREPARED_FDS_MAX. */
size_t prepared_fds(int ret[PREPARED_FDS_MAX]);

/* They were moved to first, first + 1, ..., in this order. */
void prepared_moved(int first);

/*
 * *ret: a detached clone of the root that fits the plan, the caller's; -1 if none does. Returns 0,
 * or -errno if this process could not return to its own mount namespace: then it must end.
 */
int prepared_take(const struct plan_view *view, int *ret);

/*
 * After prepared_take() gave none, once the box has begun: a builder is forked if it is time for
 * one.
 */
void prepared_build(const struct plan_view *view);

/* Closes the descriptors of prepared_fds(), and forgets; a box has none of them. */
void prepared_close(void);

/* -- in what a spawner or a maker forks */

/* No key, which is a part of another plan, remains in this process; descriptors are the caller's.
 */
void prepared_forget(void);

#endif
