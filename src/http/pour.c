/*
 * http/pour.c - sends a long JSON answer in pieces, as the client reads it.
 *
 * Room: http (joining). Touches: mem.
 * Theory: it writes one piece a turn, so that other clients are served between. While the client's
 * queue is full it writes nothing, and continues when the queue has drained. The parts are the text
 * up to a hole, the hole, and so on to the end of the text.
 */
#include "http/pour.h"

#include <stdlib.h>

#include "codec/encode.h"
#include "http/exchange.h"
#include "loop/deferred.h"

enum {
        PIECE = 96 * 1024 /* bytes a turn; a multiple of three for base64 */,
        OUT_ROOM = BASE64_ROOM(PIECE)
};

struct pouring {
        struct exchange *x;
        struct loop_timer turn;
        struct json_writer w;
        struct pour_hole holes[POUR_HOLES];
        size_t count, part,
                at; /* part: 2 * n: text before hole n; 2 * n + 1: hole n. at: within the part */
};

static void
pouring_fini(struct pouring *p)
{
        loop_timer_remove(&p->turn);
        json_fini(&p->w);
        for (size_t i = 0; i < p->count; i++)
                free(p->holes[i].take_memory);
        deferred_free(p);
}

static void
gone(struct exchange *x)
{
        pouring_fini(x->state);
}

static size_t
write_text(struct pouring *p, size_t hole)
{
        size_t from = hole > 0 ? p->holes[hole - 1].at : 0,
               to = hole < p->count ? p->holes[hole].at : p->w.len;
        size_t len = to - from - p->at < PIECE ? to - from - p->at : PIECE, queued;

        queued = exchange_write(p->x, p->w.text + from + p->at, len);
        p->at += len;
        if (p->at == to - from) {
                p->part++;
                p->at = 0;
        }
        return queued;
}

/* One buffer for all answers: its bytes are passed on before this returns. */
static size_t
write_hole(struct pouring *p, const struct pour_hole *h)
{
        static char out[OUT_ROOM];
        size_t taken = h->len - p->at < PIECE ? h->len - p->at : PIECE, len;

        if (h->is_base64)
                len = base64_write(h->take_memory + h->first + p->at, taken, out);
        else
                len = json_escape(h->take_memory + h->first + p->at, h->len - p->at, out,
                                  sizeof out, &taken);
        p->at += taken;
        if (p->at == h->len) {
                p->part++;
                p->at = 0;
        }
        return len > 0 ? exchange_write(p->x, out, len) : 0;
}

static void
go_on(struct loop_timer *t)
{
        struct pouring *p = (struct pouring *)(void *)((char *)t - offsetof(struct pouring, turn));
        size_t queued = p->part % 2 == 0 ? write_text(p, p->part / 2)
                                         : write_hole(p, &p->holes[p->part / 2]);
        struct exchange *x = p->x;

        if (p->part == 2 * p->count + 1) {
                pouring_fini(p);
                (void)exchange_keep(x, 0, NULL); /* a smaller amount is never refused */
                exchange_end(x);
        } else if (queued <= EXCHANGE_HIGH && loop_timer_set(x->loop, &p->turn, 0, go_on) < 0) {
                pouring_fini(p);
                exchange_abort(x);
        }
}

static void
drained(struct exchange *x)
{
        struct pouring *p = x->state;

        go_on(&p->turn);
}

void
pour(struct exchange *x, int status, struct json_writer *take_w, const struct pour_hole *holes,
     size_t count)
{
        static const struct exchange_hooks hooks = { .gone = gone, .drained = drained };
        struct pouring *p = take_w->is_broken ? NULL : deferred_make(x->loop, struct pouring);

        if (!p) {
                json_fini(take_w);
                for (size_t i = 0; i < count; i++)
                        free(holes[i].take_memory);
                exchange_no_memory(x);
                return;
        }
        p->x = x;
        p->w = *take_w;
        *take_w = (struct json_writer){ .is_broken = true };
        for (p->count = 0; p->count < count; p->count++)
                p->holes[p->count] = holes[p->count];
        p->turn.due_ms = LOOP_NEVER;
        exchange_hold(x, &hooks, p);
        exchange_begin(x, status, "application/json", -1);
        go_on(&p->turn);
}

void
exchange_json(struct exchange *x, int status, struct json_writer *take_w)
{
        struct error e;

        if (take_w->is_broken) {
                (void)fail(&e, ERROR_NO_MEMORY, "there is no memory left for this answer");
                json_fini(take_w);
                exchange_fail(x, &e);
                return;
        }
        if (take_w->len >= POUR_LEAST && exchange_keep(x, take_w->room, &e) < 0) {
                json_fini(take_w);
                exchange_fail(x, &e);
                return;
        }
        if (take_w->len >= POUR_LEAST) {
                pour(x, status, take_w, NULL, 0);
                return;
        }
        exchange_answer(x, status, "application/json", take_w->text, take_w->len);
        json_fini(take_w);
}
