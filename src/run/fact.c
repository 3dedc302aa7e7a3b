/*
 * run/fact.c - passes on what a box reports of its command.
 *
 * Room: run (joining). Touches: clock.
 */
#include <string.h>

#include "boxstate/wall_state.h"
#include "clock/clock.h"
#include "event/fact.h"
#include "run/session.h"

static void
pass_on(const struct session *s, struct event e)
{
        e.from.at_ms = clock_wall_ms();
        s->o->fact(&e);
}

static void
hear_allowed(const struct session *s, const struct wire_box_allowed *told)
{
        char address[WALL_STATE_ADDRESS_ROOM];
        struct wire_box_allowed a = *told;

        a.a.host[sizeof a.a.host - 1] = '\0';
        if (a.missed > 0)
                pass_on(s, event_of_allowed_more(a.missed));
        pass_on(s, event_of_allowed(&a, wall_state_allowed_address(&a.a, address)));
}

static void
hear_executed(const struct session *s, const void *body, size_t len)
{
        struct event_executed_texts texts;
        struct event e;

        if (event_of_executed(body, len, &texts, &e) < 0)
                return;
        if (texts.missed > 0)
                pass_on(s, event_of_executed_more(texts.missed));
        pass_on(s, e);
}

bool
session_hear_fact(const struct session *s, const struct wire_message *m, const void *body)
{
        if (m->kind != WIRE_BOX_ALLOWED && m->kind != WIRE_BOX_EXECUTED)
                return false;
        if (s->o->fact && m->kind == WIRE_BOX_EXECUTED)
                hear_executed(s, body, m->len);
        if (s->o->fact && m->kind == WIRE_BOX_ALLOWED && m->len == sizeof(struct wire_box_allowed))
                hear_allowed(s, body);
        return true;
}
