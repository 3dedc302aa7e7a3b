/*
 * rest/rest.c - operations that make one call and answer, and the stream of events.
 *
 * Room: rest (joining). Touches: mem.
 */
#include "rest/rest.h"

#include <string.h>

#include "api/event_record.h"
#include "api/openapi.h"
#include "base/arena.h"
#include "codec/codec.h"
#include "http/pour.h"
#include "loop/deferred.h"
#include "rest/ask.h"

enum { QUIET_MS = 15 * 1000 };

struct asked {
        struct link_call call; /* must be first */
        struct exchange *x;
        const struct operation *operation;
        struct json_writer w;
        int is_base64, has_items;
};

/* The last reply holds the members of a list answer that are not items. */
static void
end_items(struct asked *a, const struct record *fields)
{
        const struct api_type *all = a->operation->result;
        struct record_entry entry;

        json_close_list(&a->w);
        for (size_t i = 1; i < all->count; i++)
                if (record_find(fields, all->members[i].tag, &entry))
                        codec_write_member(&a->w, api_field(entry.tag)->name, &entry, a->is_base64);
}

static void
end_asked(struct asked *a)
{
        link_call_end(&a->call);
        json_fini(&a->w);
        deferred_free(a);
}

static void
on_refused(struct link_call *c, const struct error *e)
{
        struct asked *a = (struct asked *)(void *)c;

        exchange_fail(a->x, e);
        end_asked(a);
}

static void
on_reply(struct link_call *c, const struct record *fields, bool is_last)
{
        struct asked *a = (struct asked *)(void *)c;
        int status = a->operation->status;
        struct error e;

        if (a->has_items)
                codec_write_items(&a->w, a->operation, fields, a->is_base64);
        else if (status != 204)
                codec_write(&a->w, a->operation, fields, a->is_base64);
        if (a->w.len >= POUR_LEAST && exchange_keep(a->x, a->w.room, &e) < 0) {
                on_refused(c, &e);
                return;
        }
        if (!is_last)
                return;
        if (a->has_items)
                end_items(a, fields);
        json_close_map(&a->w);
        if (status == 204)
                exchange_answer(a->x, 204, NULL, NULL, 0);
        else
                exchange_json(a->x, status, &a->w);
        end_asked(a);
}

static const struct exchange_hooks answered_anyway = { 0 };

void
rest_call(struct exchange *x, const struct route *r)
{
        static const struct link_call_ops ops = { .reply = on_reply, .refused = on_refused };
        static const char *const names[] = { "encoding", NULL };
        struct asked *a = deferred_make(x->loop, struct asked);
        struct error e;

        if (!a) {
                exchange_no_memory(x);
                return;
        }
        a->call.ops = &ops;
        a->x = x;
        a->operation = r->operation;
        a->is_base64 = ask_base64(x);
        a->has_items = r->operation->item != NULL;
        json_init(&a->w, false);
        exchange_hold(x, &answered_anyway, a);
        if (ask(x, r, r->operation, names, &a->call, &e) < 0) {
                exchange_fail(x, &e);
                deferred_free(a);
                return;
        }
        json_open_map(&a->w);
        if (a->has_items) {
                json_key(&a->w, "items");
                json_open_list(&a->w);
        }
}

void
rest_health(struct exchange *x, const struct route *r)
{
        exchange_answer(x, 204, NULL, NULL, 0);
}

void
rest_openapi(struct exchange *x, const struct route *r)
{
        struct json_writer w;

        json_init(&w, true);
        openapi_write(&w, CARREL_VERSION);
        exchange_json(x, 200, &w);
}

/* -- events ------------------------------------------------------------------------------------ */

struct watched {
        struct link_call call; /* must be first */
        struct exchange *x;
        struct loop_timer quiet;
};

static void
watch_end(struct watched *w)
{
        link_call_end(&w->call);
        loop_timer_remove(&w->quiet);
        deferred_free(w);
}

static void
watcher_gone(struct exchange *x)
{
        watch_end(x->state);
}

static void
speak(struct loop_timer *t)
{
        struct watched *w = (struct watched *)(void *)((char *)t - offsetof(struct watched, quiet));

        (void)loop_timer_set(w->x->loop, &w->quiet, loop_now_ms() + QUIET_MS, speak);
        (void)exchange_comment(w->x);
}

static void
watch_refused(struct link_call *c, const struct error *e)
{
        struct watched *w = (struct watched *)(void *)c;

        exchange_fail(w->x, e);
        watch_end(w);
}

static void
watch_answered(struct link_call *c, const struct record *fields, bool is_last)
{
        struct watched *w = (struct watched *)(void *)c;

        if (w->x->has_begun)
                return;
        exchange_begin(w->x, 200, "text/event-stream", -1);
        (void)exchange_event_id(w->x, record_get_text(fields, FIELD_EVENT_ID, NULL));
        (void)loop_timer_set(w->x->loop, &w->quiet, loop_now_ms() + QUIET_MS, speak);
}

/* Ends the stream. A client reads the current state and then watches again. */
static void
watch_over(struct watched *w)
{
        exchange_end(w->x);
        watch_end(w);
}

/*
 * Ends the stream of a client that does not read its events, because they are not queued without
 * limit. The client finds the state by reading it.
 */
static void
watch_overflow(struct watched *w)
{
        struct event overflow = event_overflow();
        struct json_writer text;

        json_init(&text, false);
        json_open_map(&text);
        event_json(&text, &overflow);
        json_close_map(&text);
        if (!text.is_broken)
                (void)exchange_event(w->x, overflow.word, NULL, text.text, text.len);
        json_fini(&text);
        watch_over(w);
}

static void
watch_event(struct link_call *c, const struct record *fields)
{
        struct watched *w = (struct watched *)(void *)c;
        const char *event = record_get_text(fields, FIELD_EVENT, "event");
        struct json_writer text;
        size_t queued = 0;

        json_init(&text, false);
        json_open_map(&text);
        codec_write_all(&text, fields, ask_base64(w->x));
        json_close_map(&text);
        if (!w->x->has_begun)
                exchange_begin(w->x, 200, "text/event-stream", -1);
        if (!text.is_broken)
                queued = exchange_event(w->x, event, record_get_text(fields, FIELD_EVENT_ID, NULL),
                                        text.text, text.len);
        json_fini(&text);
        if (event_find(event) == EVENT_OVERFLOW)
                watch_over(w);
        else if (queued > EXCHANGE_HIGH)
                watch_overflow(w);
}

void
rest_watch(struct exchange *x, const struct route *r)
{
        static const char *const names[] = { "encoding", NULL };
        static const struct link_call_ops ops = { .reply = watch_answered,
                                                  .refused = watch_refused,
                                                  .event = watch_event };
        static const struct exchange_hooks hooks = { .gone = watcher_gone };
        struct watched *w = deferred_make(x->loop, struct watched);
        struct error e;

        if (!w) {
                exchange_no_memory(x);
                return;
        }
        w->call.ops = &ops;
        w->x = x;
        exchange_hold(x, &hooks, w);
        if (ask(x, r, r->operation, names, &w->call, &e) < 0) {
                exchange_fail(x, &e);
                watch_end(w);
        }
}
