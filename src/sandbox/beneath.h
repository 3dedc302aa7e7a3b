/*
 * sandbox/beneath.h - what lies beneath a mount source that a box must not meet unprepared: other mounts, and sockets
 * on which the host listens.
 */
#ifndef CARREL_SANDBOX_BENEATH_H
#define CARREL_SANDBOX_BENEATH_H

#include "base/arena.h"
#include "base/error.h"
#include "plan/request.h"

/*
 * Fills submounts and sockets of `source` (its host_path is set) from /proc/self/mountinfo and /proc/net/unix. A socket bound
 * after this look is not seen: SECURITY.md says so. Errors: ERROR_NO_MEMORY, ERROR_QUOTA_EXCEEDED, ERROR_MOUNT_UNRESOLVABLE.
 */
int beneath_look(struct arena *arena, struct plan_source *source, struct error *e);

/* The parsers themselves, over text. Paths that are not strictly below `root` are passed over; relative ones are given. */
size_t beneath_mounts(struct arena *arena, const char *mountinfo, const char *root, const char **ret, size_t room);
size_t beneath_sockets(struct arena *arena, const char *net_unix, const char *root, const char **ret, size_t room);

#endif
