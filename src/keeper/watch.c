/*
 * keeper/watch.c - sends events (event/event.def) to watchers.
 *
 * Room: keeper (joining). Touches: mem.
 * Theory: a watcher sees only its owner's sandboxes. An event is stored once per owner
 * (keeper/news.h). A watcher is the number of the next event to send to it. So the memory is
 * bounded by owner, for any number of watchers, and no event waits on a link. When the link is
 * full, the watcher falls behind. If its next event is no longer stored, it gets "overflow" and
 * nothing more. Events are kept for a while after the last watcher left: a client whose connection
 * broke can reconnect and continue after its last event. The id of an event is a word and its
 * number. The word shows a later keeper that the number is not its own.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/event_record.h"
#include "keeper/news.h"
#include "keeper/op.h"
#include "keeper/sandbox.h"

/*
 * WATCHERS_MAX: on one connection; the door has no limit, because each of its watchers is a
 * separate client.
 */
enum {
        WATCHERS_MAX = 64,
        EVENTS_A_TURN = 32,
        LINGER_MS = 60 * 1000 /* without a watcher */,
        WORD_LEN = 16,
        EVENT_ID_LEN = WORD_LEN + 24
};

/* Of one owner, while it has a watcher, and a little longer. */
struct audience {
        struct loop_timer linger; /* first */
        struct audience *next;
        struct keeper *keeper;
        char word[WORD_LEN + 1]; /* random: start of the ids of its events */
        struct news *news;
        unsigned watchers;
        char owner[KEEPER_OWNER_LEN];
};

struct watcher {
        struct watcher *next;
        struct connection *connection;
        struct audience *audience;
        uint64_t at; /* number of the next event */
        uint32_t serial;
        bool has_missed;         /* events after the one that it named are no longer stored */
        char id[SANDBOX_ID_LEN]; /* "": every sandbox of the owner */
};

_Static_assert((int)NEWS_ID_LEN == (int)SANDBOX_ID_LEN, "an event knows its sandbox");

static bool
has_room(const struct keeper *k, const struct connection *c)
{
        size_t count = 0;

        for (const struct watcher *w = k->watchers; w && !c->is_door; w = w->next)
                count += w->connection == c;
        return count < WATCHERS_MAX;
}

/* -- audiences (owners with watchers) ---------------------------------------------------------- */

static struct audience *
find_audience(const struct keeper *k, const char *owner)
{
        struct audience *a = k->audiences;

        while (a && strcmp(a->owner, owner) != 0)
                a = a->next;
        return a;
}

static struct audience *
audience_new(struct keeper *k, const char *owner)
{
        struct audience *a = calloc(1, sizeof *a);
        struct error ignored;

        if (!a)
                return NULL;
        a->news = news_new();
        if (!a->news || random_hex(a->word, WORD_LEN, &ignored) < 0) {
                news_free(a->news);
                free(a);
                return NULL;
        }
        a->keeper = k;
        a->linger.due_ms = LOOP_NEVER;
        memcpy(a->owner, owner, strlen(owner) + 1);
        a->next = k->audiences;
        k->audiences = a;
        return a;
}

static struct audience *
join(struct keeper *k, const char *owner)
{
        struct audience *a = find_audience(k, owner);

        if (!a)
                a = audience_new(k, owner);
        if (!a)
                return NULL;
        loop_timer_remove(&a->linger);
        a->watchers++;
        return a;
}

static void
audience_free(struct audience *a)
{
        for (struct audience **at = &a->keeper->audiences; *at; at = &(*at)->next)
                if (*at == a) {
                        *at = a->next;
                        break;
                }
        news_free(a->news);
        free(a);
}

static void
nobody_came(struct loop_timer *t)
{
        audience_free((struct audience *)(void *)t);
}

static void
leave(struct keeper *k, struct audience *a)
{
        if (--a->watchers == 0 &&
            loop_timer_set(k->loop, &a->linger, loop_now_ms() + LINGER_MS, nobody_came) < 0)
                audience_free(a);
}

/* -- ids of events ----------------------------------------------------------------------------- */

static void
write_id(struct record_writer *w, const struct audience *a, uint64_t number)
{
        char id[EVENT_ID_LEN];

        (void)snprintf(id, sizeof id, "%s.%" PRIu64, a->word, number);
        record_text(w, FIELD_EVENT_ID, id);
}

/*
 * Is `id` an event sent by this keeper, with all later ones still stored? Then `ret` is the number
 * of the next.
 */
static bool
find_next(const struct audience *a, const char *id, uint64_t *ret)
{
        unsigned long long number;
        char *end;

        if (strncmp(id, a->word, WORD_LEN) != 0 || id[WORD_LEN] != '.' || id[WORD_LEN + 1] < '0' ||
            id[WORD_LEN + 1] > '9')
                return false;
        errno = 0;
        number = strtoull(id + WORD_LEN + 1, &end, 10);
        if (*end != '\0' || errno != 0 || number >= a->news->next || number + 1 < a->news->first)
                return false;
        *ret = number + 1;
        return true;
}

/* -- watchers ---------------------------------------------------------------------------------- */

static struct watcher *
watcher_new(struct call *c, const struct sandbox *s)
{
        const char *last = record_get_text(&c->record, FIELD_LAST_EVENT, NULL);
        struct watcher *w = calloc(1, sizeof *w);

        if (w)
                w->audience = join(c->keeper, c->caller.owner);
        if (!w || !w->audience) {
                free(w);
                return NULL;
        }
        w->connection = c->connection;
        w->serial = c->serial;
        w->at = w->audience->news->next;
        w->has_missed = last && !find_next(w->audience, last, &w->at);
        if (s)
                memcpy(w->id, s->id, sizeof w->id);
        w->next = c->keeper->watchers;
        c->keeper->watchers = w;
        return w;
}

enum call_state
op_watch(struct call *c, struct error *e)
{
        struct record_writer w = reply_begin(c);
        struct event watching = event_watching();
        const struct watcher *watcher;
        struct sandbox *s = NULL;

        if (record_get_text(&c->record, FIELD_ID, NULL)) {
                s = registry_of_call(c, e);
                if (!s)
                        return CALL_FAILED;
        }
        if (!has_room(c->keeper, c->connection))
                return fail(e, ERROR_QUOTA_EXCEEDED, "one connection watches at most %d times",
                            WATCHERS_MAX),
                       CALL_FAILED;
        watcher = watcher_new(c, s);
        if (!watcher)
                return fail(e, ERROR_NO_MEMORY, "no memory for a watcher"), CALL_FAILED;
        watching.from.at_ms = loop_wall_ms();
        event_record(&w, &watching);
        write_id(&w, watcher->audience, watcher->at - 1);
        if (watcher->has_missed || watcher->at < watcher->audience->news->next)
                peer_want(&c->connection->peer);
        /* lint: the keeper's list has the watcher, and watch_forget() frees it */
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

static void
watcher_free(struct keeper *k, struct watcher *w)
{
        leave(k, w->audience);
        free(w);
}

void
watch_forget(struct keeper *k, const struct connection *connection, const uint32_t *serial)
{
        for (struct watcher **at = &k->watchers; *at;) {
                struct watcher *w = *at;

                if (w->connection != connection || (serial && w->serial != *serial)) {
                        at = &w->next;
                        continue;
                }
                *at = w->next;
                watcher_free(k, w);
        }
}

/* -- sending events ---------------------------------------------------------------------------- */

static struct record_writer
begin_event(struct keeper *k)
{
        struct record_writer w;

        record_init(&w, k->out + sizeof(struct wire_call),
                    sizeof k->out - sizeof(struct wire_call));
        return w;
}

static void
say_overflow(const struct watcher *watcher)
{
        struct record_writer w = begin_event(watcher->connection->keeper);
        struct event overflow = event_overflow();

        overflow.from.at_ms = loop_wall_ms();
        event_record(&w, &overflow);
        reply_event(watcher->connection, watcher->serial, &w);
}

/* Continues from here: the client must query what it missed. */
static void
say_missed(const struct watcher *watcher)
{
        struct record_writer w = begin_event(watcher->connection->keeper);
        struct event missed = event_missed();

        missed.from.at_ms = loop_wall_ms();
        event_record(&w, &missed);
        write_id(&w, watcher->audience, watcher->at - 1);
        reply_event(watcher->connection, watcher->serial, &w);
}

static void
say_event(const struct watcher *watcher, const struct news_item *item, uint64_t number)
{
        struct record_writer w = begin_event(watcher->connection->keeper);

        memcpy(w.bytes, item->body, item->len); /* already written there */
        w.len = item->len;
        write_id(&w, watcher->audience, number);
        reply_event(watcher->connection, watcher->serial, &w);
}

enum heard { HEARD_NOTHING, HEARD_ONE, HEARD_OVERFLOW };

/* Sends the next event that is for this watcher, if any. */
static enum heard
hear(struct watcher *w)
{
        const struct news *news = w->audience->news;

        if (w->has_missed) {
                w->has_missed = false;
                say_missed(w);
                return HEARD_ONE;
        }
        if (w->at < news->first) {
                say_overflow(w);
                return HEARD_OVERFLOW;
        }
        while (w->at < news->next) {
                uint64_t number = w->at++;
                const struct news_item *item = news_at(news, number);

                if (w->id[0] != '\0' && strcmp(w->id, item->id) != 0)
                        continue;
                say_event(w, item, number);
                return HEARD_ONE;
        }
        return HEARD_NOTHING;
}

/* A watcher that got an event goes to the end of the list. One that lost an event is removed. */
void
watch_turn(struct connection *connection)
{
        struct keeper *k = connection->keeper;
        struct watcher **last = &k->watchers, *heard = NULL, **heard_last = &heard;
        int left = EVENTS_A_TURN;

        while (*last && left > 0 && peer_is_idle(&connection->peer)) {
                struct watcher *w = *last;
                enum heard what = w->connection == connection ? hear(w) : HEARD_NOTHING;

                if (what == HEARD_NOTHING) {
                        last = &w->next;
                        continue;
                }
                left--;
                *last = w->next;
                if (what == HEARD_OVERFLOW) {
                        watcher_free(k, w);
                } else {
                        w->next = NULL;
                        *heard_last = w;
                        heard_last = &w->next;
                }
        }
        if (*last) /* more events may follow */
                peer_want(&connection->peer);
        while (*last)
                last = &(*last)->next;
        *last = heard;
        if (heard)
                peer_want(&connection->peer);
}

/* Stores the event for watchers that are behind, and sends it to the others. */
static void
publish(struct audience *a, const struct sandbox *s, const struct record_writer *w)
{
        if (w->is_broken)
                return;
        news_add(a->news, s->id, w->bytes, w->len);
        for (struct watcher *watcher = s->keeper->watchers; watcher; watcher = watcher->next) {
                if (watcher->audience != a)
                        continue;
                if (!watcher->has_missed && watcher->at + 1 == a->news->next &&
                    watcher->at >= a->news->first && peer_is_idle(&watcher->connection->peer))
                        (void)hear(watcher);
                else
                        peer_want(&watcher->connection->peer);
        }
}

void
watch_publish(const struct sandbox *s, const struct event *e)
{
        struct audience *a = s->row.owner ? find_audience(s->keeper, s->row.owner) : NULL;
        struct record_writer w = begin_event(s->keeper);

        if (!a)
                return;
        event_record(&w, e);
        publish(a, s, &w);
}
