/*
 * policy/host_limits.h - how much one sandbox, and one owner, may use on this host.
 *
 *     limits_max: {memory_mb: 2048, pids: 1024}   maximum for one sandbox; names as in limits and
 * metadata.carrel.limits sandboxes_max: 64                           sandboxes of one owner
 *     execs_max: 1024                             commands of one owner that run at once, in all
 * sandboxes of that owner volumes_max: 16                             volumes of one owner; 0: no
 * manifest may name one
 *
 * A written number holds for every owner. A missing number means no bound for the daemon's own user
 * and for `carrel run`. For any other user it means the number of host_limits_of_others(), so that
 * a shared daemon has bounds by default.
 */
#ifndef CARREL_POLICY_HOST_LIMITS_H
#define CARREL_POLICY_HOST_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spec/spec.h"

struct field;

struct host_limits {
        struct spec_limits each;            /* of one sandbox; SPEC_UNSET: no bound */
        uint64_t sandboxes, execs, volumes; /* of one owner; SPEC_UNSET: no bound */
};

/* the largest values that may be written */
enum { HOST_SANDBOXES_MAX = 4096, HOST_EXECS_MAX = 1 << 20, HOST_VOLUMES_MAX = 4096 };

/* No bounds. */
struct host_limits host_limits_none(void);

/* For a caller other than the daemon's own user: sets each missing bound to a number. */
void host_limits_of_others(struct host_limits *l);

/*
 * The limits that can have a bound, in document order; NULL past the last. `ret_section`: "limits"
 * or "metadata/carrel/limits".
 */
const struct field *host_limits_row(size_t index, const char **ret_section);
const struct field *host_limits_find(const char *name);

/* Lowers each limit that was not asked for and exceeds its bound. */
void host_limits_lower(const struct host_limits *l, struct spec_limits *given);

/* Are all limits of this sandbox within the bounds? A missing limit is outside. */
bool host_limits_hold(const struct host_limits *l, const struct spec_limits *given);

#endif
