/*
 * gate/share.c - divides a common resource between walls.
 *
 * Room: gate (acting). Touches: nothing.
 * Theory: other walls never get a wall's own part, however much they take. With more walls, the
 * parts become smaller. A wall that holds more than its new part keeps it until it returns it; only
 * `max` limits the sum.
 */
#include "gate/share.h"

static size_t
common_of(const struct share_pool *p)
{
        return p->max / 100 * p->common_percent + p->max % 100 * p->common_percent / 100;
}

/* A wall's own part; at least 1 unless the pool is empty. */
static size_t
part_of(const struct share_pool *p)
{
        size_t part = (p->max - common_of(p)) /
                      (p->walls > SHARE_WALLS_LEAST ? p->walls : SHARE_WALLS_LEAST);

        return part > 0 ? part : 1;
}

void
share_join(struct share_pool *p, struct share *s)
{
        *s = (struct share){ .is_in = true };
        p->walls++;
}

void
share_leave(struct share_pool *p, struct share *s)
{
        if (!s->is_in)
                return;
        share_give(p, s, s->own + s->common);
        s->is_in = false;
        p->walls--;
}

bool
share_take(struct share_pool *p, struct share *s, size_t n)
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
share_give(struct share_pool *p, struct share *s, size_t n)
{
        size_t common = n < s->common ? n : s->common;

        s->common -= common;
        p->common -= common;
        s->own -= n - common;
        p->taken -= n;
}
