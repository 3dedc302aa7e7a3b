/*
 * keeper/denials.c - network refusals that boxes report: keeps them, sends them to watchers, logs
 * them.
 *
 * Room: keeper (joining). Touches: mem, clock, standard error.
 * Theory: the box counts, and its reports are believed about its own sandbox only. The keeper's
 * copy has the same bounds as the box's. A payload can cause refusals as fast as it can connect. So
 * events are merged by the second, and log lines by the minute.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/fact.h"
#include "keeper/sandbox.h"

/* EVENTS_A_SECOND is for one sandbox. */
enum { EVENTS_A_SECOND = 16, SECOND_MS = 1000, LOG_FIRST_MS = 1000, LOG_MS = 60000 };

_Static_assert(BOX_DENIALS_MAX == NUMBER_REFUSALS_FIRST + NUMBER_REFUSALS_LAST,
               "as many as its box keeps");

/* A box sends clean, terminated names. A compromised box may not. */
static void
make_plain(char text[GATE_HOST_ROOM])
{
        text[GATE_HOST_ROOM - 1] = '\0';
        wall_state_make_plain(text);
}

/* -- events ------------------------------------------------------------------------------------ */

static void
tell_folded(struct box *b)
{
        if (b->sandbox && b->denied_folded > 0)
                publish_denied_more(b->sandbox, b->denied_folded);
        b->denied_told = b->denied_folded = 0;
}

static void
on_second(struct loop_timer *t)
{
        tell_folded((struct box *)(void *)((char *)t - offsetof(struct box, folding)));
}

/*
 * Only the first ones of a second are sent as events. One event at its end gives the number of the
 * others.
 */
static void
tell_denied(struct box *b, const struct wire_box_denied *d)
{
        if (b->folding.due_ms == LOOP_NEVER)
                (void)loop_timer_set(b->keeper->loop, &b->folding, loop_now_ms() + SECOND_MS,
                                     on_second);
        if (b->denied_told >= EVENTS_A_SECOND) {
                b->denied_folded++;
                return;
        }
        b->denied_told++;
        publish_denied(b->sandbox, d);
}

/* -- the log ----------------------------------------------------------------------------------- */

static const struct wire_box_denied *
find_number(const struct box *b, uint64_t number)
{
        for (size_t i = b->denial_count; i > 0; i--)
                if (b->denials[i - 1].number == number)
                        return &b->denials[i - 1];
        return NULL;
}

static void
log_now(struct box *b)
{
        const struct wire_box_denied *first = find_number(b, b->log_number);
        uint64_t count = b->refusals.total - b->logged;
        char thing[EVENT_LINE_ROOM] = "", exec[32] = "";
        struct denied_words words;

        b->logged = b->refusals.total;
        b->log_number = 0;
        if (count == 0)
                return;
        if (first) {
                struct event e = denied_event(first, &words);

                event_line(&e, thing);
        }
        if (first && first->exec != 0)
                (void)snprintf(exec, sizeof exec, " (exec %" PRIu32 ")", first->exec);
        (void)fprintf(stderr,
                      "carrel-keeper: sandbox %s: %" PRIu64
                      " request%s to the network refused%s%s%s\n",
                      b->id, count, count == 1 ? "" : "s", first ? ", first: " : "", thing, exec);
}

static void
on_log(struct loop_timer *t)
{
        log_now((struct box *)(void *)((char *)t - offsetof(struct box, logging)));
}

/*
 * After a quiet minute it waits only a moment, so that one command causes one line. Later lines are
 * a minute apart.
 */
static void
log_soon(struct box *b, uint64_t number)
{
        uint64_t now = loop_now_ms();

        if (b->log_number == 0)
                b->log_number = number;
        if (b->logging.due_ms != LOOP_NEVER)
                return;
        if (b->log_due_ms < now + LOG_FIRST_MS)
                b->log_due_ms = now + LOG_FIRST_MS;
        (void)loop_timer_set(b->keeper->loop, &b->logging, b->log_due_ms, on_log);
        b->log_due_ms += LOG_MS;
}

/* -- reports of boxes -------------------------------------------------------------------------- */

void
denials_gone(struct box *b)
{
        loop_timer_remove(&b->folding);
        loop_timer_remove(&b->logging);
        tell_folded(b);
        log_now(b);
}

void
denials_free(struct box *b)
{
        free(b->denials);
        b->denials = NULL;
        refusals_fini(&b->refusals);
}

/*
 * The entry of this number, else a new one: if full, the oldest entry after the first ones makes
 * room. NULL: no memory.
 */
static struct wire_box_denied *
place_of(struct box *b, uint64_t number, bool *ret_is_new)
{
        if (!b->denials)
                b->denials = calloc(BOX_DENIALS_MAX, sizeof *b->denials);
        *ret_is_new = b->denials != NULL;
        for (size_t i = b->denials ? b->denial_count : 0; i > 0; i--)
                if (b->denials[i - 1].number == number) {
                        *ret_is_new = false;
                        return &b->denials[i - 1];
                }
        if (b->denials && b->denial_count == BOX_DENIALS_MAX) {
                memmove(b->denials + NUMBER_REFUSALS_FIRST, b->denials + NUMBER_REFUSALS_FIRST + 1,
                        (NUMBER_REFUSALS_LAST - 1) * sizeof *b->denials);
                b->denial_count--;
        }
        return b->denials ? &b->denials[b->denial_count++] : NULL;
}

/*
 * A box from before WIRE_BOX_REFUSED reports only new refusals and counts, so its reports are all
 * that is known.
 */
static void
count_for_older(struct box *b, const struct wire_box_denied *d, uint32_t before)
{
        struct wire_wall_denied more = d->d;

        more.count = d->d.count > before ? d->d.count - before : 0;
        if (b->hello.protocol < BOX_PROTOCOL_REFUSED && more.count > 0)
                refusals_add(&b->refusals, d->exec, &more);
}

void
denials_hear(struct box *b, const struct wire_box_denied *d)
{
        bool is_new;
        struct wire_box_denied *at = place_of(b, d->number, &is_new);
        uint32_t before = is_new || !at ? 0 : at->d.count;

        if (!at)
                return;
        *at = *d;
        make_plain(at->d.host);
        make_plain(at->d.other);
        count_for_older(b, at, before);
        if (!b->is_ready) { /* it repeats what an earlier keeper already received */
                b->logged = b->refusals.total;
                return;
        }
        log_soon(b, is_new ? at->number : 0);
        if (is_new && b->sandbox)
                tell_denied(b, at);
}

void
denials_hear_refused(struct box *b, const struct wire_box_refused *r)
{
        struct wire_wall_denied d = r->d;

        make_plain(d.host);
        make_plain(d.other);
        b->refusals.total = r->total;
        refusals_set(&b->refusals, r->exec, r->kept, r->more, r->at, &d, r->count);
        if (b->is_ready)
                log_soon(b, 0);
        else
                b->logged = b->refusals.total;
}

/* -- allowed connections ----------------------------------------------------------------------- */

void
denials_hear_allowed(struct box *b, const struct wire_box_allowed *told)
{
        char address[WALL_STATE_ADDRESS_ROOM];
        struct wire_box_allowed a = *told;

        make_plain(a.a.host);
        if (!b->sandbox)
                return;
        if (a.missed > 0)
                sandbox_publish(b->sandbox, event_of_allowed_more(a.missed));
        sandbox_publish(b->sandbox,
                        event_of_allowed(&a, wall_state_allowed_address(&a.a, address)));
}
