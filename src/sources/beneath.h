/*
 * sources/beneath.h - finds what a box must not reach unprepared beneath a mount source: other
 * mounts, and sockets on which the host listens.
 */
#ifndef CARREL_SOURCES_BENEATH_H
#define CARREL_SOURCES_BENEATH_H

#include "base/arena.h"
#include "base/error.h"
#include "plan/request.h"

/*
 * Fills submounts and sockets of `source` (its host_path is set) from /proc/self/mountinfo and
 * /proc/net/unix. A socket that is bound after this look is not seen (documented in SECURITY.md).
 * Errors: ERROR_NO_MEMORY, ERROR_QUOTA_EXCEEDED, ERROR_MOUNT_UNRESOLVABLE.
 */
int beneath_look(struct arena *arena, struct plan_source *source, struct error *e);

/*
 * The parsers, over text. They skip paths that are not strictly below `root` and give relative
 * paths.
 */
size_t beneath_mounts(struct arena *arena, const char *mountinfo, const char *root,
                      const char **ret, size_t room);
size_t beneath_sockets(struct arena *arena, const char *net_unix, const char *root,
                       const char **ret, size_t room);

#endif
