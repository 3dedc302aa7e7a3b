/*
 * gate/share.c - what all walls draw on.
 *
 * Room: gate (acting). Touches: nothing.
 * Theory: however many walls take all they can, a wall's own part is not among what they took. Where more walls come the parts become smaller; what is held beyond them
 * by then stays until it is given back, and only `max` is above that.
 */
#include "gate/share.h"

static size_t
common_of(const struct share_pool *p)
{
        return p->max / 100 * p->common_percent + p->max % 100 * p->common_percent / 100;
}

/* A wall's own part; of a pool that has anything, never nothing. */
static size_t
part_of(const struct share_pool *p)
{
        size_t part = (p->max - common_of(p)) / (p->walls > SHARE_WALLS_LEAST ? p->walls : SHARE_WALLS_LEAST);

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

/* What is common first: the own part is the one that the next may count on. */
void
share_give(struct share_pool *p, struct share *s, size_t n)
{
        size_t common = n < s->common ? n : s->common;

        s->common -= common;
        p->common -= common;
        s->own -= n - common;
        p->taken -= n;
}
