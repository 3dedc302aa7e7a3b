/*
 * egress/rules.h - the entries of a list, sorted for search by name.
 *
 * Deciding, pure. The cost of a search is small even for a long list: one binary search per label
 * of the name, at most as many as the longest entry has labels. It uses no hash table, because
 * untrusted names and entries could be chosen to collide.
 */
#ifndef CARREL_EGRESS_RULES_H
#define CARREL_EGRESS_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "spec/egress.h"

struct rule {
        const char *key;
        const struct spec_egress *entry;
};

/* Zeroed: empty. Freed with its arena; the entries are borrowed. */
struct rules {
        const struct spec_egress *entries;
        const struct rule *sorted;
        size_t count;
};

/* 0, or -1: no memory. */
int rules_make(struct arena *arena, const struct spec_egress *entries, size_t count,
               struct rules *ret);

/*
 * The first entry that permits host:port (port 0: any), with the result of egress_allows() for
 * each. -1: none. `host` is canonical.
 */
int rules_find(const struct rules *r, const char *host, uint16_t port);

/* True: an entry names a host below `host`. */
bool rules_are_below(const struct rules *r, const char *host);

/*
 * The ports of all entries that name `host`, each once, in the order of the entries, at most
 * `room`. Returns their number.
 */
size_t rules_ports(const struct rules *r, const char *host, uint16_t *ret, size_t room);

#endif
