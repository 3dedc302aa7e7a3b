/*
 * gate/counted.c - the byte counters of a wall, as its box keeps them.
 *
 * Room: gate (acting). Touches: the wall's link, clock.
 * Theory: a cap on bytes must hold for the life of a sandbox, across restarts of the gate. While
 * bytes pass, the box is sent a number ahead of the truth; when they stop, the true number. So a
 * gate that is killed costs its sandbox at most the part sent ahead, and never gives bytes back.
 */
#include "gate/counted.h"

#include <errno.h>
#include <string.h>

#include "gate/wall.h"

/* Of what passed, so that a long transfer seldom sends a message and a short one does not claim
 * much. A cap bounds it, however much passed. */
static uint64_t
ahead_of(uint64_t passed, uint64_t cap)
{
        uint64_t ahead = passed / COUNTED_AHEAD_PART;

        if (ahead < COUNTED_AHEAD_LEAST)
                ahead = COUNTED_AHEAD_LEAST;
        if (ahead > COUNTED_AHEAD_MOST)
                ahead = COUNTED_AHEAD_MOST;
        return cap == 0 || cap / COUNTED_AHEAD_PART > ahead ? ahead : cap / COUNTED_AHEAD_PART;
}

/* A message that does not fit on the link is sent with the next one, or when bytes stop. */
static void
tell(struct wall *w, uint64_t out, uint64_t in)
{
        const struct wire_wall_counted told = { out, in };

        if (w->link.fd < 0 ||
            wire_send(w->link.fd, WIRE_WALL_COUNTED, &told, sizeof told, NULL, 0) < 0)
                return;
        w->counted.said_out = out;
        w->counted.said_in = in;
}

static void
settle(struct wall *w)
{
        if (w->counted.is_kept &&
            (w->counted.said_out != w->bytes_out || w->counted.said_in != w->bytes_in))
                tell(w, w->bytes_out, w->bytes_in);
}

static void
look(struct loop_timer *t)
{
        struct wall *w = (struct wall *)((char *)t - offsetof(struct wall, counted.settle));
        uint64_t now = w->bytes_out + w->bytes_in;

        if (now == w->counted.seen)
                settle(w);
        if (w->counted.said_out != w->bytes_out || w->counted.said_in != w->bytes_in)
                (void)loop_timer_set(w->gate->loop, &w->counted.settle,
                                     loop_now_ms() + COUNTED_SETTLE_MS, look);
        w->counted.seen = now;
}

void
counted_more(struct wall *w)
{
        struct counted *c = &w->counted;

        if (!c->is_kept)
                return;
        if (w->bytes_out > c->said_out || w->bytes_in > c->said_in)
                tell(w,
                     w->bytes_out > c->said_out
                             ? w->bytes_out + ahead_of(w->bytes_out, w->caps.bytes_out)
                             : c->said_out,
                     w->bytes_in > c->said_in
                             ? w->bytes_in + ahead_of(w->bytes_in, w->caps.bytes_in)
                             : c->said_in);
        if (c->settle.due_ms == LOOP_NEVER)
                (void)loop_timer_set(w->gate->loop, &c->settle, loop_now_ms() + COUNTED_SETTLE_MS,
                                     look);
}

int
counted_hear(struct wall *w, const void *body, size_t len)
{
        struct wire_wall_counted m;

        if (len != sizeof m || w->has_begun || w->counted.is_kept)
                return -EPROTO;
        memcpy(&m, body, sizeof m);
        w->bytes_out = w->counted.said_out = m.bytes_out;
        w->bytes_in = w->counted.said_in = m.bytes_in;
        w->counted.is_kept = true;
        return 0;
}

void
counted_end(struct wall *w)
{
        loop_timer_remove(&w->counted.settle);
        settle(w);
}
