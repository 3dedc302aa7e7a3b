/*
 * gate/fair_share.h - divides a common resource between walls: each wall has a reserved part, and
 * the common part goes to the first that asks.
 */
#ifndef CARREL_GATE_FAIR_SHARE_H
#define CARREL_GATE_FAIR_SHARE_H

#include <stdbool.h>
#include <stddef.h>

/* the reserved parts are computed for at least so many walls */
enum { SHARE_WALLS_LEAST = 8 };

/* `common_percent` of `max` is common; the rest is divided equally. `max` may change. */
struct fair_share_pool {
        size_t max, common_percent, common, taken, walls;
};

/* What one wall holds. Zeroed: nothing, and in no pool. */
struct fair_share {
        size_t own, common;
        bool is_in;
};

void fair_share_join(struct fair_share_pool *p, struct fair_share *s);

/* Frees all that the wall held. Accepts a share that is in no pool. */
void fair_share_leave(struct fair_share_pool *p, struct fair_share *s);

/* Takes `n` more, all or none. */
bool fair_share_take(struct fair_share_pool *p, struct fair_share *s, size_t n);
void fair_share_give(struct fair_share_pool *p, struct fair_share *s, size_t n);

#endif
