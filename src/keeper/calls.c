/*
 * keeper/calls.c - lists of calls that wait for the same thing, in order of arrival.
 *
 * Room: keeper (joining). Touches: nothing.
 */
#include "keeper/sandbox.h"

void
calls_init(struct calls *l)
{
        l->first = NULL;
        l->last = &l->first;
}

void
calls_add(struct calls *l, struct call *c)
{
        c->next = NULL;
        *l->last = c;
        l->last = &c->next;
}

struct call *
calls_take(struct calls *l)
{
        struct call *c = l->first;

        if (!c)
                return NULL;
        l->first = c->next;
        if (!l->first)
                l->last = &l->first;
        c->next = NULL;
        return c;
}

void
calls_fail(struct calls *l, const struct error *e)
{
        for (struct call *c = calls_take(l); c; c = calls_take(l))
                call_fail(c, e);
}

/* A call that must wait again joins the list again. This pass does not begin it twice. */
void
calls_begin(struct calls *l)
{
        struct call *c = l->first;

        calls_init(l);
        while (c) {
                struct call *next = c->next;

                c->next = NULL;
                if (c->connection)
                        call_begin(c);
                else
                        call_end(c);
                c = next;
        }
}
