/*
 * gate/share.h - what all walls draw on, so that none of them is left without: each has a part of its own, and what is common goes to who comes first.
 */
#ifndef CARREL_GATE_SHARE_H
#define CARREL_GATE_SHARE_H

#include <stdbool.h>
#include <stddef.h>

enum { SHARE_WALLS_LEAST = 8 /* the parts are as if there were so many walls, until there are more */ };

/* `common_percent` of `max` are common, the rest is divided. `max` may change. */
struct share_pool { size_t max, common_percent, common, taken, walls; };

/* What one wall has of it; zeroed: nothing, and of no pool. */
struct share { size_t own, common; bool is_in; };

void share_join(struct share_pool *p, struct share *s);

/* All that it had is free again. Accepts one that is in no pool. */
void share_leave(struct share_pool *p, struct share *s);

/* `n` more, all or none. */
bool share_take(struct share_pool *p, struct share *s, size_t n);
void share_give(struct share_pool *p, struct share *s, size_t n);

#endif
