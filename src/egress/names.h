/*
 * egress/names.h - which synthetic address belongs to which name, in one wall.
 *
 * Deciding, pure: the caller supplies the time. A name keeps its index while it is in use. At the
 * cap, a name with no question and no connection for NAMES_IDLE_MS may be retired. Its index is not
 * given to another name for NAMES_QUARANTINE_MS. So a client that still holds the old address is
 * refused, and never reaches another name.
 */
#ifndef CARREL_EGRESS_NAMES_H
#define CARREL_EGRESS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "egress/admit.h"

enum {
        NAMES_MAX = 4096,
        NAMES_TTL_S = 60,
        NAMES_IDLE_MS = 300 * 1000,
        NAMES_QUARANTINE_MS = 600 * 1000
};

struct names;

/* At most `max` names at once, up to NAMES_MAX; memory grows with use. NULL: no memory. */
struct names *names_new(size_t max);
void names_free(struct names *n);

/*
 * The index of `host`; a new name gets one now. 0: too many (DENIAL_TOO_MANY_NAMES). *ret_is_new:
 * report it to the box. *ret_retired: another name that lost its index; report it too, even with
 * result 0; 0: none. A retired name that is requested again gets its old index back, unless another
 * name has it.
 */
uint32_t names_give(struct names *n, const struct egress_host *host, uint64_t now_ms,
                    int *ret_is_new, uint32_t *ret_retired);

/* True: `host` has an index now. Does not count as use. */
bool names_has(const struct names *n, const struct egress_host *host);

/*
 * Milliseconds since the last use of a name; 0 if the index is unused or retired. Does not count as
 * use.
 */
uint64_t names_idle_ms(const struct names *n, uint32_t index, uint64_t now_ms);

/* Retires the name of an index. */
void names_retire(struct names *n, uint32_t index, uint64_t now_ms);

/* The name of an index. NULL: unused, or retired (*ret_is_retired). Counts as use. */
const struct egress_host *names_find(struct names *n, uint32_t index, uint64_t now_ms,
                                     int *ret_is_retired);

/* The name that a retired index had, for a message. NULL: never used, or in use. */
const struct egress_host *names_was(const struct names *n, uint32_t index);

/*
 * Restores a name that an earlier gate issued; a second call may change is_retired. 0, or -1: no
 * room, the index belongs to another name, or the name has another index.
 */
int names_restore(struct names *n, uint32_t index, const struct egress_host *host, int is_retired,
                  uint64_t now_ms);

size_t names_count(const struct names *n);

/*
 * The index of a synthetic address (wall/wall.h); 0: not a synthetic address. IPv4 as
 * ::ffff:a.b.c.d.
 */
uint32_t names_index_of(const uint8_t address[16]);

/* The synthetic address of an index: IPv4 as ::ffff:a.b.c.d, or IPv6. */
void names_address_of(uint32_t index, int is_v6, uint8_t ret[16]);

#endif
