/*
 * keeper/executed.c - the programs that a sandbox's processes executed, for the audit log.
 *
 * Room: keeper (joining). Touches: mem, clock.
 * Theory: a program executes thousands of others a second. One entry for each would cost more than
 * their text, so events wait a moment for further ones. The disk is shared by all owners, so the
 * bytes of one sandbox are bounded; the number of executions is never lost here.
 */
#include "keeper/executed.h"

#include <stdlib.h>

#include "api/event_record.h"
#include "event/fact.h"
#include "keeper/audit.h"

struct executed {
        struct loop_timer timer; /* first */
        struct sandbox *sandbox;
        struct json_writer list;  /* its text is NULL while nothing is collected */
        uint64_t uncounted;       /* executions that are only counted */
        uint64_t room, filled_ms; /* bytes that may be written, and when that was computed */
};

static uint64_t
room_now(struct executed *x)
{
        uint64_t now = loop_now_ms(), passed = now - x->filled_ms;

        /* a whole burst returns within EXECUTED_BURST / EXECUTED_RATE seconds */
        if (passed >= (uint64_t)EXECUTED_BURST / EXECUTED_RATE * 1000)
                x->room = EXECUTED_BURST;
        else
                x->room += passed * EXECUTED_RATE / 1000;
        if (x->room > EXECUTED_BURST)
                x->room = EXECUTED_BURST;
        if (passed > 0)
                x->filled_ms = now;
        return x->room;
}

static void
add(struct executed *x, struct event e)
{
        size_t before;

        if (!x->list.text) {
                json_init(&x->list, false);
                json_open_list(&x->list);
        }
        before = x->list.len;
        e.from.at_ms = loop_wall_ms();
        json_open_map(&x->list);
        event_audit_json(&x->list, &e);
        json_close_map(&x->list);
        x->room -= x->list.len - before < x->room ? x->list.len - before : x->room;
}

static void
flush(struct executed *x)
{
        struct json_writer output;

        loop_timer_remove(&x->timer);
        if (x->uncounted > 0)
                add(x, event_of_executed_more(x->uncounted));
        x->uncounted = 0;
        if (!x->list.text)
                return;
        json_close_list(&x->list);
        json_init(&output, false);
        json_open_map(&output);
        json_key(&output, "events");
        json_raw(&output, x->list.text, x->list.len);
        json_close_map(&output);
        output.is_broken |= x->list.is_broken;
        audit_entry(x->sandbox, EVENT_PROCESS_EXECUTED, &output);
        json_fini(&output);
        json_fini(&x->list);
        x->list = (struct json_writer){ .text = NULL };
}

static void
due(struct loop_timer *t)
{
        flush((struct executed *)(void *)t);
}

static struct executed *
executed_of(struct sandbox *s)
{
        if (s->executed)
                return s->executed;
        s->executed = calloc(1, sizeof *s->executed);
        if (!s->executed)
                return NULL;
        s->executed->sandbox = s;
        s->executed->room = EXECUTED_BURST;
        s->executed->filled_ms = loop_now_ms();
        s->executed->timer.due_ms = LOOP_NEVER;
        return s->executed;
}

void
executed_hear(struct sandbox *s, const void *body, size_t len)
{
        struct event_executed_texts texts;
        struct executed *x = executed_of(s);
        struct event e;

        if (!x || event_of_executed(body, len, &texts, &e) < 0)
                return;
        x->uncounted += texts.missed;
        if (room_now(x) == 0) {
                x->uncounted++;
        } else {
                if (x->uncounted > 0)
                        add(x, event_of_executed_more(x->uncounted));
                x->uncounted = 0;
                add(x, e);
        }
        if (x->list.text && x->list.len >= EXECUTED_ENTRY_LEN)
                flush(x);
        else if (x->timer.due_ms == LOOP_NEVER)
                (void)loop_timer_set(s->keeper->loop, &x->timer, loop_now_ms() + EXECUTED_WAIT_MS,
                                     due);
}

void
executed_flush(struct sandbox *s)
{
        if (s->executed)
                flush(s->executed);
}

void
executed_gone(struct sandbox *s)
{
        executed_flush(s);
        free(s->executed);
        s->executed = NULL;
}
