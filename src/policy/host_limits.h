/*
 * policy/host_limits.h - how much one sandbox, and one owner, may have on this host.
 *
 *     limits_max: {memory_mb: 2048, pids: 1024}   the most that one sandbox may ask for, in the words of limits and metadata.carrel.limits
 *     sandboxes_max: 64                           sandboxes of one owner
 *     execs_max: 1024                             commands of one owner that run at once, in all sandboxes of that owner
 *     volumes_max: 16                             volumes of one owner; 0: no manifest may name one
 *
 * What is written holds for every owner. A number that is not written is no bound for the daemon's own user and for `carrel run`, and for anybody
 * else that of host_limits_of_others(): who serves strangers has bounds without having written one.
 */
#ifndef CARREL_POLICY_HOST_LIMITS_H
#define CARREL_POLICY_HOST_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spec/spec.h"

struct field;

struct host_limits {
        struct spec_limits each;                /* of one sandbox; SPEC_UNSET: no bound */
        uint64_t sandboxes, execs, volumes;     /* of one owner; SPEC_UNSET: no bound */
};

enum { HOST_SANDBOXES_MAX = 4096, HOST_EXECS_MAX = 1 << 20, HOST_VOLUMES_MAX = 4096 };   /* the greatest that may be written */

/* No bound at all. */
struct host_limits host_limits_none(void);

/* For a caller who is not the daemon's own user: what is not written becomes a number. */
void host_limits_of_others(struct host_limits *l);

/* The limits that have a bound, in the order of the documents; NULL past the last. `ret_section`: "limits" or "metadata/carrel/limits". */
const struct field *host_limits_row(size_t index, const char **ret_section);
const struct field *host_limits_find(const char *name);

/* Lowers what nobody asked for, and is above its bound, to the bound. */
void host_limits_lower(const struct host_limits *l, struct spec_limits *given);

/* Is what this sandbox has within the bounds, one that is not limited included? */
bool host_limits_hold(const struct host_limits *l, const struct spec_limits *given);

#endif
