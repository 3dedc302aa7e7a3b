/*
 * maker/lease.h - what outlives a killed runtime, and how the next start collects it.
 *
 * A lease is a file that holds the packed plan of one sandbox and is locked by its maker for as long as the
 * sandbox lives. A lease that can be locked belongs to nobody: what its plan's HOST steps made is undone from it,
 * and nothing else is touched. The directory belongs to the caller alone (0700, its own uid).
 */
#ifndef CARREL_MAKER_LEASE_H
#define CARREL_MAKER_LEASE_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/pack.h"

/* Collects abandoned leases beside `path` if it `looks` (at 16 of them, any), then makes and locks `path` with `plan` (len bytes). Gives the
 * descriptor that holds the lock, or -errno (-EPERM: the directory is not the caller's alone). */
int lease_open(const char *path, const void *plan, size_t len, bool looks);

/* Collects all the abandoned leases of a directory; -errno when it is missing or not the caller's alone. */
int lease_collect(const char *directory);

/* Removes the lease. */
void lease_close(const char *path, int fd);

/* Undoes what HOST steps left in cgroupfs, last first. Steps that were never done are passed over. */
void lease_undo(const struct plan_view *view);

#endif
