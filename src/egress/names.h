/*
 * egress/names.h - which synthetic address stands for which name, in one wall.
 *
 * Deciding, pure: the caller brings the time. A name keeps its index for as long as it is used; one that has not been asked for nor connected to for NAMES_IDLE_MS
 * may be retired when the cap is reached, and its index is not given to another name before NAMES_QUARANTINE_MS are over: a client that still holds the
 * address is refused, and never reaches another name.
 */
#ifndef CARREL_EGRESS_NAMES_H
#define CARREL_EGRESS_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "egress/admit.h"

enum { NAMES_MAX = 4096, NAMES_TTL_S = 60, NAMES_IDLE_MS = 300 * 1000, NAMES_QUARANTINE_MS = 600 * 1000 };

struct names;

/* At most `max` names at once, up to NAMES_MAX; the memory grows with use. NULL without memory. */
struct names *names_new(size_t max);
void names_free(struct names *n);

/*
 * Index of `host`, given to it now if it has none. 0: too many (DENIAL_TOO_MANY_NAMES). *ret_is_new: tell the box. *ret_retired: another name that lost its
 * index, to be told too, even with 0; 0: none. A retired name that is asked for again has its old index back, while no other name has it.
 */
uint32_t names_give(struct names *n, const struct egress_host *host, uint64_t now_ms, int *ret_is_new, uint32_t *ret_retired);

/* Has `host` an index now? Counts as no use. */
bool names_has(const struct names *n, const struct egress_host *host);

/* For how long a name was not used; 0 where the index has none, or a retired one. Counts as no use. */
uint64_t names_idle_ms(const struct names *n, uint32_t index, uint64_t now_ms);

/* Retires the name of an index that is in use. */
void names_retire(struct names *n, uint32_t index, uint64_t now_ms);

/* The name of an index, or NULL: none has it, or it is retired (*ret_is_retired). The use counts as of now. */
const struct egress_host *names_find(struct names *n, uint32_t index, uint64_t now_ms, int *ret_is_retired);

/* The name that a retired index had, for a sentence; NULL: none, or it is in use. */
const struct egress_host *names_was(const struct names *n, uint32_t index);

/* Puts in what an earlier gate had given out; the same again may change is_retired. 0, or -1: no room, the index is another's, or the name has another. */
int names_restore(struct names *n, uint32_t index, const struct egress_host *host, int is_retired, uint64_t now_ms);

size_t names_count(const struct names *n);

/* Index of a synthetic address (wall/wall.h), 0: it is none. IPv4 as ::ffff:a.b.c.d. */
uint32_t names_index_of(const uint8_t address[16]);

/* The synthetic address of an index: IPv4 as ::ffff:a.b.c.d, or IPv6. */
void names_address_of(uint32_t index, int is_v6, uint8_t ret[16]);

#endif
