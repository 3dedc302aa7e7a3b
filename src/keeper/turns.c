/*
 * keeper/turns.c - picks the next call.
 *
 * Room: keeper (joining). Touches: mem, clock.
 *
 *     read --turns_add()--> in its owner's queue --turns_serve()--> begun (call.c) ... ended
 *                                     | its caller cancels, or disconnects
 *                                     v
 *                                   ended, with no effect
 *
 * Theory: the cost of one call is bounded, the number of calls that an owner sends at once is not.
 * So the owners form a ring, and one call of each is begun before the second of any. The sockets
 * are read again after MOMENT_MS. So a caller waits for at most one call of each other owner. Calls
 * of one owner keep their order. A queue whose caller does not read its answers stops, without
 * effect on the others.
 */
#include "keeper/turns.h"

#include <stdlib.h>
#include <string.h>

#include "keeper/keeper.h"

/* OWNER_CALLS_MAX: calls of one owner other than the daemon's own, queued or waiting. */
enum { OWNER_CALLS_MAX = 1024, MOMENT_MS = 2 };

struct turn {
        struct turn *next, *prev;   /* the ring of owners with calls here */
        struct call *first, **last; /* calls that were not begun yet */
        unsigned count;             /* including those that were begun and wait */
        char owner[KEEPER_OWNER_LEN];
};

static struct turn *
turn_of(struct keeper *k, const char *owner)
{
        struct turn *t = k->turns;

        if (!t)
                return NULL;
        do {
                if (strcmp(t->owner, owner) == 0)
                        return t;
                t = t->next;
        } while (t != k->turns);
        return NULL;
}

/* Appended behind all others. */
static struct turn *
turn_new(struct keeper *k, const char *owner)
{
        struct turn *t = calloc(1, sizeof *t);

        if (!t)
                return NULL;
        memcpy(t->owner, owner, sizeof t->owner);
        t->last = &t->first;
        t->next = t->prev = t;
        if (k->turns) {
                t->next = k->turns;
                t->prev = k->turns->prev;
                t->prev->next = t->next->prev = t;
        } else {
                k->turns = t;
        }
        return t;
}

static void
turn_free(struct keeper *k, struct turn *t)
{
        if (k->turns == t)
                k->turns = t->next == t ? NULL : t->next;
        t->prev->next = t->next;
        t->next->prev = t->prev;
        free(t);
}

int
turns_add(struct call *c, struct error *e)
{
        struct keeper *k = c->keeper;
        struct turn *t = turn_of(k, c->caller.owner);
        bool is_bounded = c->caller.owner[0] != '\0' && strcmp(c->caller.owner, k->owner) != 0;

        if (t && is_bounded && t->count >= OWNER_CALLS_MAX)
                return fail(e, ERROR_QUOTA_EXCEEDED, "%u calls of yours wait, and at most %d may",
                            t->count, OWNER_CALLS_MAX);
        if (!t)
                t = turn_new(k, c->caller.owner);
        if (!t)
                return fail(e, ERROR_NO_MEMORY, "no memory for a call");
        c->turn = t;
        c->next = NULL;
        *t->last = c;
        t->last = &c->next;
        t->count++;
        return 0;
}

void
turns_forget(struct call *c)
{
        struct turn *t = c->turn;

        c->turn = NULL;
        if (t && --t->count == 0)
                turn_free(c->keeper, t);
}

/* True if its answer would only be queued: begin it later. */
static bool
is_clogged(const struct call *c)
{
        return c->connection && !c->connection->peer.is_broken &&
               peer_is_full(&c->connection->peer);
}

static void
begin(struct turn *t)
{
        struct call *c = t->first;

        t->first = c->next;
        if (!t->first)
                t->last = &t->first;
        c->next = NULL;
        if (c->connection && !c->is_cancelled)
                call_begin(c);
        else
                call_end(c);
}

/* The next owner in the ring with a call that can begin, or NULL. */
static struct turn *
next_turn(const struct keeper *k)
{
        struct turn *t = k->turns;

        if (!t)
                return NULL;
        do {
                if (t->first && !is_clogged(t->first))
                        return t;
                t = t->next;
        } while (t != k->turns);
        return NULL;
}

static void
again(struct loop_timer *t)
{
        (void)t; /* the loop has turned; it now serves the remaining calls */
}

void
turns_serve(struct keeper *k)
{
        uint64_t until = loop_now_ms() + MOMENT_MS;
        struct turn *t = next_turn(k);

        while (t) {
                k->turns = t->next; /* the other owners first, then this one again */
                begin(t);
                t = next_turn(k);
                if (t && loop_now_ms() >= until) {
                        (void)loop_timer_set(k->loop, &k->turns_again, loop_now_ms(), again);
                        return;
                }
        }
}
