/*
 * gate/fair_share.c - divides a common resource between walls.
 *
 * Room: gate (acting). Touches: nothing.
 * Theory: other walls never get a wall's own part, however much they take. With more walls, the
 * parts become smaller. A wall that holds more than its new part keeps it until it returns it; only
 * `max` limits the sum.
 */
#include "gate/fair_share.h"

static size_t
common_of(const struct fair_share_pool *p)
{
        return p->max / 100 * p->common_percent + p->max % 100 * p->common_percent / 100;
}

/* A wall's own part; at least 1 unless the pool is empty. */
static size_t
part_of(const struct fair_share_pool *p)
{
        size_t part = (p->max - common_of(p)) /
                      (p->walls > SHARE_WALLS_LEAST ? p->walls : SHARE_WALLS_LEAST);

        return part > 0 ? part : 1;
}

void
fair_share_join(struct fair_share_pool *p, struct fair_share *s)
{
        *s = (struct fair_share){ .is_in = true };
        p->walls++;
}

void
fair_share_leave(struct fair_share_pool *p, struct fair_share *s)
{
        if (!s->is_in)
                return;
        fair_share_give(p, s, s->own + s->common);
        s->is_in = false;
        p->walls--;
}

bool
fair_share_take(struct fair_share_pool *p, struct fair_share *s, size_t n)
{
        size_t part = part_of(p), common = common_of(p);

        if (p->taken > p->max || n > p->max - p->taken)
                return false;
        if (s->own <= part && n <= part - s->own) {
                s->own += n;
        } else if (p->common <= common && n <= common - p->common) {
                s->common += n;
                p->common += n;
        } else {
                return false;
        }
        p->taken += n;
        return true;
}

/* Returns the common part first, because the next take relies on the own part. */
void
fair_share_give(struct fair_share_pool *p, struct fair_share *s, size_t n)
{
        size_t common = n < s->common ? n : s->common;

        s->common -= common;
        p->common -= common;
        s->own -= n - common;
        p->taken -= n;
}
