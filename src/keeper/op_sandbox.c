/*
 * keeper/op_sandbox.c - get, list, stop, extend, pause, resume, url, event; and tasks.
 *
 * Room: keeper (joining). Touches: the store.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "keeper/op.h"
#include "keeper/sandbox.h"
#include "outcome/outcome.h"

enum { URL_LEN = 512 };

static enum call_state
answer(struct call *c, const struct sandbox *s)
{
        struct record_writer w = reply_begin(c);

        answer_sandbox(&w, s);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

enum call_state
op_get(struct call *c, struct error *e)
{
        const struct sandbox *s = registry_of_call(c, e);

        return s ? answer(c, s) : CALL_FAILED;
}

static void
write_sandbox(struct record_writer *w, const void *of, const void *item)
{
        (void)of;
        answer_sandbox(w, item);
}

/*
 * The last sandbox of the previous page, which gives the order of creation. If it is gone, its
 * creation time is used. Sandboxes of the same millisecond are then repeated, so that none is left
 * out.
 */
static const struct sandbox *
last_of_page(const struct call *c)
{
        const struct sandbox *s = c->page.after_id[0] != '\0' ? c->keeper->first : NULL;

        while (s && (strcmp(s->id, c->page.after_id) != 0 || !sandbox_belongs(s, &c->caller)))
                s = s->next;
        return s;
}

enum call_state
op_list(struct call *c, struct error *e)
{
        const struct sandbox *last;
        struct record_writer w;

        if (page_begin(c, e) < 0)
                return CALL_FAILED;
        if (!parts_begin(c, &w))
                return CALL_WAITS;
        last = last_of_page(c);
        for (const struct sandbox *s = c->keeper->first; s; s = s->next) {
                if (s->number <= c->cursor || !sandbox_belongs(s, &c->caller) ||
                    (last ? s->number <= last->number : s->row.created_ms < c->page.after))
                        continue;
                if (page_is_full(c, &w))
                        break;
                if (!parts_add(c, &w, write_sandbox, NULL, s, s->number))
                        return CALL_WAITS;
                page_add(c, s->row.created_ms, s->id);
        }
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

enum call_state
op_stop(struct call *c, struct error *e)
{
        struct sandbox *s = registry_of_call(c, e);
        struct record_writer w;

        if (s) {
                calls_add(&s->stopping, c); /* answered when it is gone, which may be at once */
                (void)sandbox_stop(s, "stopped", e);
                return CALL_WAITS;
        }
        w = reply_begin(c);
        record_bool(&w, FIELD_EXISTED, 0);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

/* Adds time, once for each key: row and key are written together. */
static int
extend(struct sandbox *s, const char *key, uint64_t span, struct error *e)
{
        struct store *store = s->keeper->store;
        uint64_t before = s->row.deadline_ms;
        char text[24];
        struct store_bytes digest = { text, (size_t)snprintf(text, sizeof text, "%" PRIu64, span) };
        int known = key ? store_key_find(store, s->id, "extend", key, digest, e) : 0, result = -1;

        if (known != 0)
                return known < 0 ? -1 : 0;
        if (store_begin(store, e) < 0)
                return -1;
        s->row.deadline_ms = deadline_add(before, loop_now_ms(), span);
        if ((!key || store_key_add(store, s->id, "extend", key, digest, e) == 0) &&
            sandbox_save(s, e) == 0)
                result = store_commit(store, e);
        else
                store_rollback(store);
        if (result < 0)
                s->row.deadline_ms = before;
        return result;
}

enum call_state
op_extend(struct call *c, struct error *e)
{
        struct sandbox *s = registry_of_call(c, e);
        struct wire_box_deadline deadline;

        if (!s)
                return CALL_FAILED;
        if (s->state == SANDBOX_STOPPING)
                return fail_at(e, ERROR_NOT_FOUND, "id", NULL, "the sandbox %s is being stopped",
                               s->id),
                       CALL_FAILED;
        if (extend(s, record_get_text(&c->record, FIELD_KEY, NULL),
                   record_get_uint(&c->record, FIELD_DURATION, 0), e) < 0)
                return CALL_FAILED;
        deadline = (struct wire_box_deadline){ s->row.deadline_ms };
        if (s->box && !s->box->is_gone)
                (void)box_send(s->box, WIRE_BOX_DEADLINE, &deadline, sizeof deadline);
        deadline_arm(s);
        sandbox_touch(s);
        return answer(c, s);
}

enum call_state
op_pause(struct call *c, struct error *e)
{
        struct sandbox *s = registry_of_call(c, e);
        enum call_state state;

        if (!s)
                return CALL_FAILED;
        if (s->state == SANDBOX_PAUSED && !s->was_freezing)
                return answer(c, s);
        state = s->state == SANDBOX_PAUSED ? CALL_DONE : sandbox_need_box(s, c, e);
        if (state != CALL_DONE)
                return state;
        if (sandbox_freeze(s, true, e) < 0)
                return sandbox_is_settling(s) ? sandbox_need_box(s, c, e) : CALL_FAILED;
        calls_add(&s->pausing, c);
        return CALL_WAITS;
}

enum call_state
op_resume(struct call *c, struct error *e)
{
        struct sandbox *s = registry_of_call(c, e);

        if (!s)
                return CALL_FAILED;
        if (s->state == SANDBOX_FAILED || s->state == SANDBOX_STOPPING)
                return sandbox_need_box(s, c, e); /* sets the error */
        if (s->state != SANDBOX_PAUSED && !(s->was_freezing && s->freeze_wanted))
                return answer(c, s);
        if (sandbox_freeze(s, false, e) < 0)
                return sandbox_is_settling(s) ? sandbox_need_box(s, c, e) : CALL_FAILED;
        calls_add(&s->resuming, c);
        return CALL_WAITS;
}

static const struct store_port *
find_port(const struct sandbox *s, uint64_t port, struct error *e)
{
        const struct store_port *ports = s->row.ports.bytes;

        for (size_t i = 0; i < s->row.ports.len / sizeof *ports; i++)
                if (ports[i].port == port)
                        return &ports[i];
        (void)fail_at(e, ERROR_NOT_FOUND, "port", "undeclared",
                      "the sandbox %s declares no port %" PRIu64, s->id, port);
        error_hint(e, "Name the port in `ports` when the sandbox is created.");
        return NULL;
}

enum call_state
op_url(struct call *c, struct error *e)
{
        struct sandbox *s = registry_of_call(c, e);
        const struct store_port *port =
                s ? find_port(s, record_get_uint(&c->record, FIELD_PORT, 0), e) : NULL;
        struct record_writer w;
        enum call_state state;
        char url[URL_LEN];

        if (!port)
                return CALL_FAILED;
        state = sandbox_judge(s, e) < 0 ? CALL_FAILED : CALL_DONE;
        if (state == CALL_DONE && !c->keeper->ingress && !s->prepared->bridge)
                return fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "port", "ingress",
                               "this daemon serves no ports"),
                       CALL_FAILED;
        if (state == CALL_DONE)
                state = sandbox_need_box(s, c, e);
        if (state != CALL_DONE)
                return state;
        if (s->prepared->bridge)
                return port_ask_url(c, s, port->port, e);
        (void)snprintf(url, sizeof url, "%s/~%s/", c->keeper->ingress, port->token);
        w = reply_begin(c);
        record_text(&w, FIELD_URL, url);
        (void)snprintf(url, sizeof url, "http://%s.localhost%s/", port->token,
                       strrchr(c->keeper->ingress, ':'));
        record_text(&w, FIELD_BROWSER_URL, url);
        record_uint(&w, FIELD_PORT, port->port);
        record_text(&w, FIELD_TOKEN, port->token);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

/* A word of the daemon's own would be believed by whoever reads events. */
static void
refuse_event(const char *word, struct error *e)
{
        bool is_own = event_find(word) != EVENT_REPORTED;

        (void)fail_at(e, ERROR_INVALID_ARGUMENT, "event", is_own ? "reserved" : "value",
                      is_own ? "only the daemon sends the event %.128s"
                             : "event must be 1 to 128 printable ASCII characters without a space, "
                               "not %.128s",
                      word);
        error_hint(e, "Report an event with a name of your own, or one of AIP-37, such as "
                      "turn-end. docs/EVENTS.md lists the names of the daemon.");
}

enum call_state
op_event(struct call *c, struct error *e)
{
        const char *word = record_get_text(&c->record, FIELD_EVENT, "");
        struct sandbox *s = registry_of_call(c, e);

        if (!s)
                return CALL_FAILED;
        if (!event_may_report(word))
                return refuse_event(word, e), CALL_FAILED;
        if (sandbox_judge(s, e) < 0)
                return CALL_FAILED;
        (void)answer(c, s); /* the consequences of the event may end the sandbox */
        sandbox_event(s, word);
        return CALL_DONE;
}

/* -- what commands left behind ----------------------------------------------------------------- */

enum call_state
op_left_take(struct call *c, struct error *e)
{
        struct sandbox *s = registry_of_call(c, e);
        struct wire_box_shown shown;
        struct record_writer w;

        if (!s)
                return CALL_FAILED;
        w = reply_begin(c);
        answer_found(&w, s, s->found.shown);
        reply_send(c, &w, 0, -1);
        found_show(&s->found, s->found.total);
        shown = (struct wire_box_shown){ s->found.shown };
        if (s->box && !s->box->is_gone && s->box->hello.protocol >= BOX_PROTOCOL_FOUND)
                (void)box_send(s->box, WIRE_BOX_SHOWN, &shown, sizeof shown);
        return CALL_DONE;
}

/* -- tasks ------------------------------------------------------------------------------------- */

enum call_state
op_task_begin(struct call *c, struct error *e)
{
        struct sandbox *s = registry_of_call(c, e);
        const char *name = record_get_text(&c->record, FIELD_TASK, "");
        struct store_task row;
        struct record_writer w;

        if (!s)
                return CALL_FAILED;
        if (client_is_task(name))
                return fail_at(e, ERROR_INVALID_ARGUMENT, "task", "reserved",
                               "names of tasks that begin with ~ are the daemon's own"),
                       CALL_FAILED;
        if (task_find(s, name))
                return fail_at(e, ERROR_EXISTS, "task", NULL, "the task %s has begun already",
                               name),
                       CALL_FAILED;
        row = (struct store_task){ s->id, name,
                                   deadline_add(0, loop_now_ms(),
                                                record_get_uint(&c->record, FIELD_TIMEOUT, 0)) };
        if (store_task_put(s->keeper->store, &row, e) < 0 ||
            task_begin(s, name, row.deadline_ms, e) < 0)
                return CALL_FAILED;
        sandbox_touch(s);
        w = reply_begin(c);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}

enum call_state
op_task_end(struct call *c, struct error *e)
{
        struct sandbox *s = registry_of_call(c, e);
        const char *name = record_get_text(&c->record, FIELD_TASK, "");
        struct task *t = s && !client_is_task(name) ? task_find(s, name) : NULL;
        struct wire_box_kill kill = { .word = OUTCOME_KILLED };
        struct record_writer w;

        if (!s)
                return CALL_FAILED;
        if (t) {
                memcpy(kill.task, t->name, sizeof kill.task);
                if (s->box && !s->box->is_gone)
                        (void)box_send(s->box, WIRE_BOX_KILL, &kill, sizeof kill);
                if (store_task_remove(s->keeper->store, s->id, t->name, e) < 0)
                        return CALL_FAILED;
                task_remove(t);
        }
        sandbox_touch(s);
        w = reply_begin(c);
        record_bool(&w, FIELD_EXISTED, t != NULL);
        reply_send(c, &w, 0, -1);
        return CALL_DONE;
}
