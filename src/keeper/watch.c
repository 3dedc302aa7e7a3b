/*
 * keeper/watch.c - who wants to hear what happens.
 *
 * Room: keeper (joining). Touches: mem.
 * Theory: everybody hears of his own sandboxes alone. Who does not read is let go of by his queue's bound.
 */
#include <stdlib.h>
#include <string.h>

#include "event/outcome.h"
#include "keeper/op.h"
#include "keeper/sandbox.h"

enum { WATCHERS_MAX = 64 };       /* of one connection, the door's aside: each of that one has a connection of its own behind it */

struct watcher {
        struct watcher *next;
        struct connection *connection;
        uint32_t serial;
        char owner[KEEPER_OWNER_LEN];
        char id[SANDBOX_ID_LEN];       /* "": every sandbox of his */
};

static bool
has_room(const struct keeper *k, const struct connection *c)
{
        size_t count = 0;

        for (const struct watcher *w = k->watchers; w && !c->is_door; w = w->next)
                count += w->connection == c;
        return count < WATCHERS_MAX;
}

enum call_state
op_watch(struct call *c, struct error *e)
{
        struct record_writer w = reply_begin(c);
        struct watcher *watcher;
        struct sandbox *s = NULL;

        if (record_get_text(&c->record, FIELD_ID, NULL)) {
                s = registry_of_call(c, e);
                if (!s)
                        return CALL_FAILED;
        }
        if (!has_room(c->keeper, c->connection))
                return fail(e, ERROR_QUOTA_EXCEEDED, "one connection watches at most %d times", WATCHERS_MAX), CALL_FAILED;
        watcher = calloc(1, sizeof *watcher);
        if (!watcher)
                return fail(e, ERROR_NO_MEMORY, "no memory for a watcher"), CALL_FAILED;
        watcher->connection = c->connection;
        watcher->serial = c->serial;
        memcpy(watcher->owner, c->caller.owner, sizeof watcher->owner);
        if (s)
                memcpy(watcher->id, s->id, sizeof watcher->id);
        watcher->next = c->keeper->watchers;
        c->keeper->watchers = watcher;
        record_text(&w, FIELD_EVENT, "watching");
        record_uint(&w, FIELD_AT, loop_wall_ms());
        /* lint: the keeper's list has the watcher, and watch_forget() frees it */
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
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
                free(w);
        }
}

static void
write_secret(struct record_writer *w, const struct watch_secret *secret)
{
        if (secret->exec > 0)
                record_uint(w, FIELD_EXEC, secret->exec);
        record_text(w, FIELD_SLUG, secret->slug);
        record_text(w, FIELD_ACTOR, secret->actor);
        record_text(w, FIELD_PURPOSE, secret->purpose);
        record_text(w, FIELD_GRANTED_BY, secret->granted_by);
}

static void
write_event(struct record_writer *w, const struct sandbox *s, const char *event, const struct wire_box_listed *l, const struct watch_secret *secret,
            const struct wire_box_denied *denied, const struct wire_kept *kept)
{
        struct outcome outcome;

        record_text(w, FIELD_EVENT, event);
        record_uint(w, FIELD_AT, loop_wall_ms());
        record_text(w, FIELD_ID, s->id);
        record_text(w, FIELD_STATUS, sandbox_status(s));
        record_text(w, FIELD_CAUSE, s->row.cause);
        if (secret)
                write_secret(w, secret);
        if (denied)
                answer_denied(w, denied);
        if (kept) {
                record_text(w, FIELD_HOST_PATH, kept->name);
                record_text(w, FIELD_KEPT_AT, kept->kept[0] != '\0' ? kept->kept : NULL);
        }
        if (!l)
                return;
        record_uint(w, FIELD_EXEC, l->exec);
        if (l->state != BOX_EXEC_ENDED || l->end.word >= OUTCOME_MAX)
                return;
        outcome = (struct outcome){ .word = (enum outcome_word)l->end.word, .exit_code = l->end.exit_code, .signal = l->end.signal };
        record_text(w, FIELD_OUTCOME, outcome_name(outcome.word));
        record_int(w, FIELD_EXIT_CODE, outcome_status(&outcome));
}

static void
tell(struct sandbox *s, const char *event, const struct wire_box_listed *l, const struct watch_secret *secret, const struct wire_box_denied *denied, const struct wire_kept *kept)
{
        for (struct watcher *watcher = s->row.owner ? s->keeper->watchers : NULL; watcher; watcher = watcher->next) {
                struct record_writer w;

                if (strcmp(watcher->owner, s->row.owner) != 0 || (watcher->id[0] != '\0' && strcmp(watcher->id, s->id) != 0))
                        continue;
                record_init(&w, s->keeper->out + sizeof(struct wire_call), sizeof s->keeper->out - sizeof(struct wire_call));
                write_event(&w, s, event, l, secret, denied, kept);
                reply_event(watcher->connection, watcher->serial, &w);
        }
}

void
watch_tell(struct sandbox *s, const char *event, const struct wire_box_listed *l)
{
        tell(s, event, l, NULL, NULL, NULL);
}

void
watch_tell_secret(struct sandbox *s, const char *event, const struct watch_secret *secret)
{
        tell(s, event, NULL, secret, NULL, NULL);
}

void
watch_tell_denied(struct sandbox *s, const struct wire_box_denied *denied)
{
        tell(s, "egress-denied", NULL, NULL, denied, NULL);
}

/* A box of this user's wrote it: it ends at its last byte. */
void
watch_tell_kept(struct sandbox *s, const struct wire_kept *kept)
{
        static const char *const events[KEPT_WHAT_MAX] = { [KEPT_MOVED] = "name-moved", [KEPT_MADE] = "name-made", [KEPT_CHANGED] = "content-changed",
                                                           [KEPT_STUCK] = "name-stuck", [KEPT_STRICT] = "name-refused" };
        struct wire_kept copy = *kept;

        copy.name[sizeof copy.name - 1] = copy.kept[sizeof copy.kept - 1] = '\0';
        if (copy.what < KEPT_WHAT_MAX && events[copy.what])
                tell(s, events[copy.what], NULL, NULL, NULL, &copy);
}
