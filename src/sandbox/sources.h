/*
 * sandbox/sources.h - the host directories behind a spec's mounts and tools: opened, looked at, held.
 *
 * Acting side of mounts: what is found here is data for the planner, and the descriptors go to the maker with the plan.
 */
#ifndef CARREL_SANDBOX_SOURCES_H
#define CARREL_SANDBOX_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/request.h"
#include "policy/host_rules.h"
#include "spec/spec.h"

enum { SOURCES_MAX = 128 };

struct sources_volumes {
        const char *place;             /* absolute: where the owner's volumes are; NULL: nothing says where */
        uint64_t most;                 /* how many there may be; UINT64_MAX: any number */
};

struct sources {
        struct plan_source items[SOURCES_MAX];
        struct plan_mount mounts[SOURCES_MAX];
        int fds[SOURCES_MAX];          /* O_PATH; owned here */
        const char *volumes[SOURCES_MAX];      /* of a volume: the real path of it, or of the nearest directory above */
        int writable[SOURCES_MAX];     /* the fds of read-write mounts; borrowed from `fds` */
        size_t count, writable_count;
        bool has_image;                /* items[count] and fds[count]: the directory where an image of the private places will lie, no mount; writable[writable_count] too */
        const char *disks[SOURCES_MAX];  size_t disk_count;   /* "major:minor" of whole disks behind read-write mounts */
        int common;                    /* the source that is the repository of a workspace that is a linked worktree; -1: none */
        bool has_guards;               /* names are looked for while the box lives */
};

/*
 * Opens what the spec's mounts and tools name. `workspace` is the workspace's absolute directory (NULL: none),
 * `reads` the absolute paths of what was read to judge. `as_owner` says that the payload will act as each source's
 * owner (privileged), not as the caller. A volume is opened by who makes the sandbox, which also makes it; here it is seen on which disk it is or will be. `ret` is ended with sources_fini(), also
 * after a failure. Errors: ERROR_MOUNT_UNRESOLVABLE, ERROR_MOUNT_DENIED (a link led outside what is permitted, a
 * protected name is a link, a volume would lie in another mount), ERROR_STATE_UNUSABLE, ERROR_NO_MEMORY.
 */
int sources_open(struct arena *arena, const struct spec *spec, const struct host_rules *rules, const char *workspace,
                 const struct spec_names *reads, const struct sources_volumes *volumes, bool as_owner, struct sources *ret, struct error *e);

/* Adds the directory of an image behind all mounts; count must be below SOURCES_MAX. */
void sources_add_image(struct sources *s, int take_fd, const struct plan_source *directory);

/* How many descriptors go to the maker, and on how many file systems something stays free. */
static inline size_t sources_total(const struct sources *s) { return s->count + s->has_image; }
static inline size_t sources_floors(const struct sources *s) { return s->writable_count + s->has_image; }

void sources_fini(struct sources *s);

#endif
