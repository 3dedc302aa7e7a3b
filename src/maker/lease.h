/*
 * maker/lease.h - records what outlives a killed runtime, so that the next start can collect it.
 *
 * A lease is a file with the packed plan of one sandbox. Its maker holds a lock on it for as long
 * as the sandbox lives. If a lease can be locked, its maker is dead: the HOST steps of its plan are
 * undone, and nothing else is touched. The directory must belong to the caller alone (mode 0700,
 * its own uid).
 */
#ifndef CARREL_MAKER_LEASE_H
#define CARREL_MAKER_LEASE_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/pack.h"

/*
 * If `looks` is set, collects abandoned leases beside `path` (always when there are 16 of them).
 * Then creates and locks `path` with `plan` (len bytes). Gives the descriptor that holds the lock,
 * or -errno (-EPERM: the directory does not belong to the caller alone).
 */
int lease_open(const char *path, const void *plan, size_t len, bool looks);

/*
 * Collects all abandoned leases of a directory. -errno if it is missing or does not belong to the
 * caller alone.
 */
int lease_collect(const char *directory);

/* Removes the lease. */
void lease_close(const char *path, int fd);

/* Undoes what HOST steps left in cgroupfs, in reverse order. Skips steps that were never done. */
void lease_undo(const struct plan_view *view);

#endif
