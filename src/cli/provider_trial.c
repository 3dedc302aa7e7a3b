/*
 * cli/provider_trial.c - a provider's program under test: requests, and what became of them.
 *
 * Room: cli (joining, program). Touches: fd, clock.
 * Theory: the loop runs only within a wait, and the session judges every message meanwhile, also
 * those that no step waits for: a second answer is found in a later step at the latest.
 */
#include "cli/provider_trial.h"

#include <stdio.h>
#include <string.h>

static struct trial *
trial_of(struct provider *p)
{
        return (struct trial *)(void *)p;
}

static struct asked *
asked_of(struct trial *t, uint32_t id)
{
        for (size_t i = 0; i < TRIAL_ASKED_MAX && id != 0; i++)
                if (t->asked[i].id == id)
                        return &t->asked[i];
        return NULL;
}

/* -- what it says ------------------------------------------------------------------------------ */

static void
take_result(struct asked *a, const struct node *result)
{
        const struct node *alive = node_find(result, "alive"), *size = node_find(result, "size"),
                          *data = node_find(result, "data"), *text = node_find(result, "sandbox"),
                          *entries = node_find(result, "entries"),
                          *entry = node_find(result, "entry");
        const void *bytes;
        struct arena arena;
        size_t len;

        if (!text)
                text = node_find(result, "url");
        if (entry && entry->kind == NODE_MAP)
                text = node_find(entry, "type");
        if (entries && entries->kind == NODE_LIST) {
                a->size = (int64_t)entries->len;
                text = entries->first && entries->first->kind == NODE_MAP
                               ? node_find(entries->first, "name")
                               : NULL;
        }
        if (text && text->kind == NODE_STRING)
                (void)snprintf(a->text, sizeof a->text, "%s", text->text);
        if (alive && alive->kind == NODE_BOOL)
                a->alive = alive->boolean;
        if (size && size->kind == NODE_INT)
                a->size = size->integer;
        arena_init(&arena, BRIDGE_ARENA_MAX);
        if (data && bridge_data_read(&arena, data, &bytes, &len) == 0)
                (void)bytes_put(&a->out[0], bytes, len);
        arena_fini(&arena);
}

static void
take_output(struct trial *t, struct asked *a, const struct bridge_message *m)
{
        struct bridge_request *r = bridge_session_find(&t->provider.session, m->id);
        struct json_writer w;

        (void)bytes_put(&a->out[m->is_stderr], m->data, m->len);
        if (a->is_withheld || !r)
                return;
        r->credit += m->len;
        json_init(&w, false);
        bridge_begin(&w, "credit", m->id);
        json_member_int(&w, "bytes", (int64_t)m->len);
        trial_send(t, &w);
}

static void
heard(struct provider *p, const struct bridge_message *m, unsigned is_end)
{
        struct trial *t = trial_of(p);
        struct asked *a = asked_of(t, m->id);

        if (!a)
                return;
        if (m->kind == BRIDGE_STARTED)
                a->is_started = true;
        else if (m->kind == BRIDGE_OUTPUT)
                take_output(t, a, m);
        else if (m->kind == BRIDGE_CREDIT_GIVEN)
                a->given += m->bytes;
        if (!is_end)
                return;
        a->has_ended = true;
        a->end = m->kind;
        a->code = m->code;
        a->status = m->status;
        a->signal = m->signal;
        if (m->kind == BRIDGE_ERROR)
                (void)snprintf(a->text, sizeof a->text, "%s", m->text);
        if (m->kind == BRIDGE_REPLY)
                take_result(a, m->result);
}

static void
broke(struct provider *p, const struct error *why)
{
        struct trial *t = trial_of(p);

        t->is_broken = true;
        t->why = *why;
}

const struct provider_news trial_news = { heard, broke };

/* -- what it is asked -------------------------------------------------------------------------- */

void
trial_forget(struct trial *t)
{
        for (size_t i = 0; i < TRIAL_ASKED_MAX; i++) {
                bytes_fini(&t->asked[i].out[0]);
                bytes_fini(&t->asked[i].out[1]);
                t->asked[i] = (struct asked){ .size = -1, .alive = -1 };
        }
}

void
trial_begin(struct trial *t, size_t n, struct json_writer *w, const char *kind)
{
        bool is_command = strcmp(kind, "runCommand") == 0;

        if (n == 0)
                trial_forget(t);
        t->asked[n].id = bridge_session_open(&t->provider.session, is_command);
        json_init(w, false);
        bridge_begin(w, kind, t->asked[n].id);
}

void
trial_send(struct trial *t, struct json_writer *w)
{
        bridge_end(w);
        provider_say(&t->provider, w);
        json_fini(w);
}

static void
begin_command(struct trial *t, size_t n, struct json_writer *w, const char *line)
{
        trial_begin(t, n, w, "runCommand");
        json_key(w, "argv");
        json_open_list(w);
        json_text(w, "/bin/sh");
        json_text(w, "-c");
        json_text(w, line);
        json_text(w, "sh");
        json_text(w, "two  words; $HOME 'quoted' \"twice\" \\");
        json_close_list(w);
        json_key(w, "env");
        json_open_map(w);
        json_member_text(w, "CARREL_TRIAL", "a b $c 'd'");
        json_close_map(w);
}

void
trial_command(struct trial *t, size_t n, const char *line)
{
        struct json_writer w;

        begin_command(t, n, &w, line);
        json_member_bool(&w, "stdin",
                         (t->provider.session.abilities & 1u << BRIDGE_CAN_STDIN) != 0);
        trial_send(t, &w);
}

void
trial_terminal(struct trial *t, size_t n, const char *line, int rows, int columns)
{
        struct json_writer w;

        begin_command(t, n, &w, line);
        json_member_bool(&w, "stdin", true);
        json_key(&w, "terminal");
        json_open_map(&w);
        json_member_int(&w, "rows", rows);
        json_member_int(&w, "columns", columns);
        json_close_map(&w);
        trial_send(t, &w);
}

void
trial_resize(struct trial *t, size_t n, int rows, int columns)
{
        struct json_writer w;

        json_init(&w, false);
        bridge_begin(&w, "resize", t->asked[n].id);
        json_member_int(&w, "rows", rows);
        json_member_int(&w, "columns", columns);
        trial_send(t, &w);
}

void
trial_input(struct trial *t, size_t n, const char *text)
{
        struct json_writer w;

        json_init(&w, false);
        bridge_begin(&w, "stdin", t->asked[n].id);
        bridge_member_data(&w, "data", text, strlen(text));
        trial_send(t, &w);
}

void
trial_about(struct trial *t, size_t n, const char *kind, const char *member, int64_t value)
{
        struct json_writer w;

        json_init(&w, false);
        bridge_begin(&w, kind, t->asked[n].id);
        if (member)
                json_member_int(&w, member, value);
        trial_send(t, &w);
}

/* -- waiting ----------------------------------------------------------------------------------- */

static void
be_late(struct loop_timer *clock)
{
        struct trial *t = (struct trial *)(void *)((char *)clock - offsetof(struct trial, clock));

        t->is_late = true;
}

bool
trial_wait(struct trial *t, bool (*is_met)(const struct trial *t))
{
        t->is_late = false;
        (void)loop_timer_set(t->loop, &t->clock, loop_now_ms() + t->step_ms, be_late);
        while (!t->is_late && !t->is_broken && !is_met(t))
                loop_turn(t->loop);
        loop_timer_remove(&t->clock);
        return !t->is_broken && is_met(t);
}

bool
trial_shows(const struct trial *t, size_t n, const char *text)
{
        const struct bytes *b = &t->asked[n].out[0];

        return b->len > 0 && memmem(b->at + b->first, b->len, text, strlen(text)) != NULL;
}

bool
trial_printed(const struct trial *t, size_t n, unsigned which, const char *text)
{
        const struct bytes *b = &t->asked[n].out[which];

        return b->len == strlen(text) &&
               (b->len == 0 || memcmp(b->at + b->first, text, b->len) == 0);
}
