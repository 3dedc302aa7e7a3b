/*
 * sources/sources.h - opens, examines and holds the host directories behind a spec's mounts and
 * tools.
 *
 * This is the acting side of mounts: what it finds is data for the planner, and the descriptors go
 * to the maker with the plan.
 */
#ifndef CARREL_SOURCES_SOURCES_H
#define CARREL_SOURCES_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "plan/request.h"
#include "policy/host_rules.h"
#include "spec/spec.h"

enum {
        SOURCES_MAX = 128,
        SOURCES_ALL_MAX = 152 /* below PLAN_SOURCES_MAX: the message has more */
};

struct sources_volumes {
        const char *place; /* absolute: directory of the owner's volumes; NULL: unknown */
        uint64_t most;     /* how many volumes the owner may have; UINT64_MAX: no limit */
};

struct sources {
        struct plan_source items[SOURCES_ALL_MAX];
        struct plan_mount mounts[SOURCES_MAX];
        int fds[SOURCES_ALL_MAX]; /* O_PATH, of layers locked; owned here */
        /* for a volume: its real path, or that of the nearest existing directory above it */
        const char *volumes[SOURCES_MAX];
        int writable[SOURCES_MAX]; /* the fds of read-write mounts; borrowed from `fds` */
        size_t count, writable_count;
        /* items[count], fds[count] and writable[writable_count] are a directory on the disk that
         * stores the private places; it is not a mount */
        bool has_image;
        size_t layer_count; /* after these: the layers of an image, the lowest first */
        const char *disks[SOURCES_MAX];
        size_t disk_count; /* "major:minor" of whole disks behind read-write mounts */
        /* index of the source that is the repository of a linked worktree workspace; -1: none */
        int common;
        bool has_guards; /* names are watched while the box lives */
};

/*
 * Opens the sources of the spec's mounts and tools. `workspace` is the workspace's absolute
 * directory (NULL: none). `reads` holds the absolute paths of files that were read to judge.
 * `as_owner`: the payload acts as each source's owner (privileged), not as the caller. The maker
 * creates and opens a volume; this function only finds the disk on which it is or will be. Call
 * sources_fini() on `ret`, also after a failure. Errors: ERROR_MOUNT_UNRESOLVABLE,
 * ERROR_MOUNT_DENIED (a link led outside the permitted directories, a protected name is a link, a
 * volume would lie in another mount), ERROR_STATE_UNUSABLE, ERROR_NO_MEMORY.
 */
int sources_open(struct arena *arena, const struct spec *spec, const struct host_rules *rules,
                 const char *workspace, const struct spec_names *reads,
                 const struct sources_volumes *volumes, bool as_owner, struct sources *ret,
                 struct error *e);

/* Adds a directory on the disk of the private places after all mounts; count must be below
 * SOURCES_MAX. */
void sources_add_image(struct sources *s, int take_fd, const struct plan_source *directory);

/* Adds a layer after all others, locked by `take_fd`. ERROR_QUOTA_EXCEEDED: too many sources. */
int sources_add_layer(struct sources *s, int take_fd, const struct plan_source *directory,
                      struct error *e);

/* How many descriptors go to the maker, and how many file systems must keep space free. */
static inline size_t
sources_total(const struct sources *s)
{
        return s->count + s->has_image + s->layer_count;
}
static inline size_t
sources_floors(const struct sources *s)
{
        return s->writable_count + s->has_image;
}

void sources_fini(struct sources *s);

#endif
