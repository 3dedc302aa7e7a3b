/*
 * egress/rules.h - the entries of a list, in the order in which a name finds its own.
 *
 * Deciding, pure. A name is compared with few entries however many there are: one search a label of the name, and none beyond the labels that the list knows. No table of
 * hashes: names and entries are others' words, and could be made to fall into one bucket.
 */
#ifndef CARREL_EGRESS_RULES_H
#define CARREL_EGRESS_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "spec/egress.h"

struct rule { const char *key; const struct spec_egress *entry; };

/* Zeroed: it names nothing. Ended with its arena; the entries are borrowed. */
struct rules { const struct spec_egress *entries; const struct rule *sorted; size_t count; };

/* 0, or -1 without memory. */
int rules_make(struct arena *arena, const struct spec_egress *entries, size_t count, struct rules *ret);

/* The first entry that permits host:port (port 0: any), as egress_allows() would say of each; -1: none. `host` is canonical. */
int rules_find(const struct rules *r, const char *host, uint16_t port);

/* Does an entry name something below `host`? */
bool rules_are_below(const struct rules *r, const char *host);

/* The ports of all entries that name `host`, each once, those of the first entries first; at most `room`. Gives how many. */
size_t rules_ports(const struct rules *r, const char *host, uint16_t *ret, size_t room);

#endif
