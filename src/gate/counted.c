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
#include <stddef.h>
#include <string.h>

#include "wire/message.h"

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
tell(struct counted *c, uint64_t out, uint64_t in)
{
        const struct wire_wall_counted told = { out, in };

        if (c->link->fd < 0 ||
            wire_send(c->link->fd, WIRE_WALL_COUNTED, &told, sizeof told, NULL, 0) < 0)
                return;
        c->said_out = out;
        c->said_in = in;
}

static bool
is_ahead(const struct counted *c)
{
        return c->said_out != c->out || c->said_in != c->in;
}

static void
settle(struct counted *c)
{
        if (c->is_kept && is_ahead(c))
                tell(c, c->out, c->in);
}

static void
look(struct loop_timer *t)
{
        struct counted *c = (struct counted *)((char *)t - offsetof(struct counted, settle));
        uint64_t now = c->out + c->in;

        if (now == c->seen)
                settle(c);
        if (is_ahead(c))
                (void)loop_timer_set(c->loop, &c->settle, loop_now_ms() + COUNTED_SETTLE_MS, look);
        c->seen = now;
}

void
counted_begin(struct counted *c, struct loop *loop, const struct loop_watch *link,
              const struct wire_gate_caps *caps)
{
        *c = (struct counted){
                .loop = loop, .link = link, .caps = caps, .settle = { .due_ms = LOOP_NEVER }
        };
}

void
counted_add(struct counted *c, bool is_out, size_t len)
{
        *(is_out ? &c->out : &c->in) += len;
        if (!c->is_kept)
                return;
        if (c->out > c->said_out || c->in > c->said_in)
                tell(c,
                     c->out > c->said_out ? c->out + ahead_of(c->out, c->caps->bytes_out)
                                          : c->said_out,
                     c->in > c->said_in ? c->in + ahead_of(c->in, c->caps->bytes_in) : c->said_in);
        if (c->settle.due_ms == LOOP_NEVER)
                (void)loop_timer_set(c->loop, &c->settle, loop_now_ms() + COUNTED_SETTLE_MS, look);
}

int
counted_hear(struct counted *c, const void *body, size_t len)
{
        struct wire_wall_counted m;

        if (len != sizeof m || c->is_kept)
                return -EPROTO;
        memcpy(&m, body, sizeof m);
        c->out = c->said_out = m.bytes_out;
        c->in = c->said_in = m.bytes_in;
        c->is_kept = true;
        return 0;
}

void
counted_end(struct counted *c)
{
        loop_timer_remove(&c->settle);
        settle(c);
}
