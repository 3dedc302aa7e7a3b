/*
 * keeper/audit.c - what the keeper records of its sandboxes.
 *
 * Room: keeper (joining). Touches: fd, mem.
 * Theory: the keeper makes the entry and waits for the answer as for a secret: the call begins
 * again. If the recorder ends, so does the keeper, and both are started again; the recorder then
 * names the starts that are open.
 */
#include "keeper/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/ending.h"
#include "api/event_record.h"
#include "api/start_error.h"
#include "base/switches.h"
#include "keeper/approval.h"
#include "keeper/audit_members.h"
#include "keeper/audit_refs.h"
#include "keeper/content.h"
#include "recorder/words.h"

enum {
        WORDS_SHOWN = 4096,
        WRITER_KEPT = 64 * 1024 /* bytes of a writer */
};

struct call_audit {
        struct call_audit *next; /* of those that wait for an answer, oldest first */
        struct call *call;       /* NULL: it is over */
        struct recorder_exec of;
        char key[BOX_KEY_LEN];
        uint64_t number, asked_ms;
        uint32_t order; /* box->begins.asked of it */
        bool is_durable, is_sent, is_failed;
        uint64_t seq;
        char chain[AUDIT_ID_TEXT];
        struct calls same; /* calls with the same key */
        struct error why;
};

/* One for each keeper. */
static struct {
        struct peer peer; /* first */
        struct keeper *keeper;
        struct loop_timer patience;
        struct call_audit *waiting;
        size_t waiting_count;
        uint64_t number, missed;
        bool is_there;
        struct json_writer writer; /* not in use: its memory is for the next entry */
        _Alignas(8) unsigned char body[WIRE_BODY_MAX];
} recorder;

/* -- entries ----------------------------------------------------------------------------------- */

static void
name_exec(struct recorder_exec *of, const struct sandbox *s, uint32_t exec)
{
        _Static_assert((int)RECORDER_OWNER_LEN == (int)KEEPER_OWNER_LEN &&
                               (int)RECORDER_SANDBOX_LEN >= (int)SANDBOX_ID_LEN,
                       "room for names");
        *of = (struct recorder_exec){ .exec = exec };
        (void)snprintf(of->owner, sizeof of->owner, "%s", s->row.owner);
        (void)snprintf(of->sandbox, sizeof of->sandbox, "%s", s->id);
}

/* 0, or -1: it does not fit, or there is no recorder any more. */
static int
send_entry_with(const struct recorder_entry *head, const struct audit_event *event,
                const int *take_fds, size_t count)
{
        size_t len = recorder_event_write(event, recorder.body + sizeof *head,
                                          sizeof recorder.body - sizeof *head);

        if (len == 0) {
                for (size_t i = 0; i < count; i++)
                        (void)close(take_fds[i]);
                return -1;
        }
        memcpy(recorder.body, head, sizeof *head);
        return peer_send(&recorder.peer, WIRE_AUDIT_ENTRY, recorder.body, sizeof *head + len,
                         take_fds, count);
}

static int
send_entry(const struct recorder_entry *head, const struct audit_event *event)
{
        return send_entry_with(head, event, NULL, 0);
}

static struct audit_event
event_of(const char *action, const char *actor, const char *sandbox,
         const struct json_writer *input, const struct json_writer *output)
{
        return (struct audit_event){ .action = action,
                                     .actor_id = actor,
                                     .actor_role = "operator",
                                     .subject_kind = "sandbox",
                                     .subject_ref = sandbox,
                                     .input = input ? input->text : NULL,
                                     .output = output ? output->text : NULL };
}

static struct json_writer
take_writer(void)
{
        struct json_writer w = recorder.writer;

        recorder.writer = (struct json_writer){ 0 };
        json_again(&w);
        return w;
}

static void
give_writer(struct json_writer *w)
{
        if (recorder.writer.text || w->room > WRITER_KEPT)
                json_fini(w);
        else
                recorder.writer = *w;
}

/* -- starts ------------------------------------------------------------------------------------ */

static int
unavailable(struct error *e, const char *reason, const char *what)
{
        (void)fail_at(e, ERROR_AUDIT_UNAVAILABLE, NULL, reason, "%s", what);
        error_hint(e,
                   "Nothing was started. Look for carrel-recorder in the daemon's log, and check "
                   "the disk of its state directory.");
        return -1;
}

/* `l`: what the box listed; NULL: its box never had the order. */
static void
send_end(const struct recorder_exec *of, const char *actor, const struct json_writer *output,
         struct box *b, const struct wire_box_listed *l)
{
        struct recorder_entry head = { .of = *of, .what = RECORDER_END };
        const struct audit_event event =
                event_of(recorder_ended_action(of->exec), actor, of->sandbox, NULL, output);
        int fds[BOX_STREAMS];

        if (!output->is_broken)
                (void)send_entry_with(&head, &event, fds, l ? content_give(b, l, &head, fds) : 0);
}

static void
end_with_error(const struct call_audit *a, const struct error *why)
{
        struct json_writer output;

        json_init(&output, false);
        json_open_map(&output);
        recorder_write_error(&output, why);
        json_close_map(&output);
        send_end(&a->of, a->of.owner, &output, NULL, NULL);
        json_fini(&output);
}

static void
leave_waiting(struct call_audit *a)
{
        for (struct call_audit **at = &recorder.waiting; *at; at = &(*at)->next)
                if (*at == a) {
                        *at = a->next;
                        /* lint: the sandbox has what audit_refs_note() allocates; audit_gone()
                         * frees it */
                        recorder.waiting_count--;
                        return;
                }
}

/* Goes on with its call, and with those that waited for it. */
static void
go_on(struct call_audit *a)
{
        struct call *c = a->call;

        if (!c)
                return;
        if (c->is_cancelled)
                call_end(c);
        else
                call_begin(c);
}

/* The oldest whose call still waits for an answer. */
static struct call_audit *
oldest(void)
{
        struct call_audit *a = recorder.waiting;

        while (a && (!a->call || a->is_failed))
                a = a->next;
        return a;
}

static void
give_up(struct loop_timer *t)
{
        struct call_audit *a;

        while ((a = oldest()) && a->asked_ms + AUDIT_PATIENCE_MS <= loop_now_ms()) {
                a->is_failed = true;
                (void)unavailable(&a->why, "slow",
                                  "the audit log was not written within 10 seconds");
                go_on(a); /* its call fails, and `a` waits without it */
        }
        if (a)
                (void)loop_timer_set(recorder.keeper->loop, t, a->asked_ms + AUDIT_PATIENCE_MS,
                                     give_up);
}

static int
write_start(const struct call *c, const struct sandbox *s, const struct exec_request *r,
            const struct recorder_entry *head, struct error *e)
{
        struct json_writer input = take_writer();
        struct audit_event event;
        int result;

        json_open_map(&input);
        json_member_int(&input, "exec", head->of.exec);
        if (r->call)
                json_member_text(&input, "operation", r->call);
        recorder_write_command(&input, r->command.argv, r->command.head.argc);
        json_member_text(&input, "cwd", r->command.cwd);
        if (r->call)
                audit_write_announced(&input, &c->record);
        else
                audit_write_command(&input, r);
        audit_write_allowed(&input, s);
        audit_write_policy(&input, s);
        audit_write_identity(&input, s);
        approval_note(c, &input);
        if (head->keeps != 0)
                content_write_base(s, s->box->begins.asked, &input);
        json_close_map(&input);
        event = event_of(r->call ? RECORDER_CALLED : "exec.started", c->caller.owner, s->id, &input,
                         NULL);
        result = input.is_broken ? fail(e, ERROR_NO_MEMORY, "no memory for an audit entry")
                                 : send_entry(head, &event);
        give_writer(&input);
        if (result < 0 && e->code == ERROR_NONE)
                (void)unavailable(e, "gone", "the process that writes the audit log has ended");
        return result;
}

/* Its entry was sent: the call waits for the answer. */
static void
await(struct call *c, struct call_audit *take)
{
        struct call_audit **last = &recorder.waiting;

        calls_init(&take->same);
        take->call = c;
        take->asked_ms = loop_now_ms();
        c->audit = take;
        while (*last)
                last = &(*last)->next;
        *last = take;
        recorder.waiting_count++;
        if (recorder.patience.due_ms == LOOP_NEVER)
                (void)loop_timer_set(recorder.keeper->loop, &recorder.patience,
                                     take->asked_ms + AUDIT_PATIENCE_MS, give_up);
}

static int
ask(struct call *c, struct sandbox *s, const struct exec_request *r, struct error *e)
{
        struct call_audit *a = calloc(1, sizeof *a);
        struct recorder_entry head = { .what = RECORDER_START };

        if (!a)
                return fail(e, ERROR_NO_MEMORY, "no memory for an audit entry");
        name_exec(&a->of, s, r->call ? ++s->box->last_quiet : ++s->box->last_exec);
        a->order = ++s->box->begins.asked;
        head.of = a->of;
        head.number = a->number = ++recorder.number;
        head.keeps = (r->box.flags & BOX_EXEC_KEEP_STREAMS) != 0;
        e->code = ERROR_NONE;
        if (write_start(c, s, r, &head, e) < 0) {
                free(a);
                return -1;
        }
        memcpy(a->key, r->box.key, sizeof a->key);
        await(c, a);
        return 0;
}

/* A call with the same key, whose start is not on the disk yet, or has not been sent yet. */
static struct call_audit *
find_same(const struct sandbox *s, const char *key)
{
        for (struct call_audit *a = recorder.waiting; a && key[0] != '\0'; a = a->next)
                if (a->call && strcmp(a->key, key) == 0 && strcmp(a->of.sandbox, s->id) == 0)
                        return a;
        return NULL;
}

static bool
is_slow(struct error *e)
{
        return (recorder.waiting_count >= AUDIT_WAITING_MAX || peer_is_full(&recorder.peer)) &&
               unavailable(e, "slow", "too many entries wait for the audit log") < 0;
}

enum call_state
audit_need(struct call *c, struct sandbox *s, const struct exec_request *r, uint32_t *ret_exec,
           struct error *e)
{
        struct call_audit *a = c->audit;

        *ret_exec = 0;
        if (!recorder.is_there || !s->row.owner)
                return CALL_DONE;
        if (a && a->is_failed) {
                *e = a->why;
                return CALL_FAILED;
        }
        if (a && a->is_durable && !box_find_exec(s->box, a->of.exec)) {
                *ret_exec = a->of.exec;
                /* a new connection to the box does not know of it */
                if (!r->call && s->box->last_exec < a->of.exec)
                        s->box->last_exec = a->of.exec;
                return CALL_DONE;
        }
        if (a && a->is_durable) {
                audit_forget(c);
                a = NULL;
        }
        if (a)
                return CALL_WAITS;
        a = find_same(s, r->box.key);
        if (a) {
                calls_add(&a->same, c);
                return CALL_WAITS;
        }
        if (is_slow(e))
                return CALL_FAILED;
        return ask(c, s, r, e) < 0 ? CALL_FAILED : CALL_WAITS;
}

static int
send_note(struct call *c, const struct sandbox *s, const char *action,
          const struct json_writer *input, struct error *e)
{
        struct call_audit *a = calloc(1, sizeof *a);
        const struct audit_event event = event_of(action, c->caller.owner, s->id, input, NULL);
        struct recorder_entry head = { .what = RECORDER_NOTE, .number = ++recorder.number };

        name_exec(&head.of, s, 0);
        if (!a || input->is_broken || send_entry(&head, &event) < 0) {
                (void)unavailable(e, "gone", "the entry cannot be given to the audit log");
                free(a);
                return -1;
        }
        a->of = head.of;
        a->number = head.number;
        a->is_sent = true; /* no end follows */
        await(c, a);
        return 0;
}

enum call_state
audit_note(struct call *c, const struct sandbox *s, const char *action,
           const struct json_writer *input, struct error *e)
{
        const struct call_audit *a = c->audit;

        if (!recorder.is_there || !s->row.owner || (a && a->is_durable))
                return CALL_DONE;
        if (a && a->is_failed)
                *e = a->why;
        if (a)
                return a->is_failed ? CALL_FAILED : CALL_WAITS;
        if (is_slow(e))
                return CALL_FAILED;
        return send_note(c, s, action, input, e) < 0 ? CALL_FAILED : CALL_WAITS;
}

void
audit_sent(struct call *c, struct sandbox *s)
{
        if (!c->audit)
                return;
        c->audit->is_sent = true;
        content_sent(s->box, c->audit->order, c->audit->seq, recorder_is_call(c->audit->of.exec));
        if (!recorder_is_call(c->audit->of.exec)) /* no answer names the record of a call */
                audit_refs_note(s, c->audit->of.exec, c->audit->seq, c->audit->chain);
}

/* Its call is over. If its start may still come to the disk, it waits without a call. */
static void
part(struct call *c, const struct error *why)
{
        struct call_audit *a = c->audit;
        struct calls same = a->same;

        c->audit = NULL;
        a->call = NULL;
        if (a->is_durable && !a->is_sent)
                end_with_error(a, why);
        else if (!a->is_durable)
                a->why = *why;
        calls_init(&a->same);
        if (a->is_durable || (a->is_failed && a->seq == UINT64_MAX))
                free(a);
        if (!same.first)
                return;
        calls_begin(&same);
}

void
audit_forget(struct call *c)
{
        struct error gone;

        if (!c->audit)
                return;
        (void)fail(&gone, ERROR_UNAVAILABLE, "the call ended before the command was started");
        part(c, &gone);
}

void
audit_again(struct call *c, const struct error *why)
{
        if (c->audit)
                part(c, why);
}

static void
refused(const struct call *c, const struct sandbox *s, const struct error *why)
{
        const struct recorder_entry head = { .what = RECORDER_EVENT };
        struct recorder_entry named = head;
        const char *words[WORDS_SHOWN];
        struct record_entry entry;
        struct json_writer input, output;
        struct audit_event event;
        size_t at = 0, count = 0;

        while (record_next(&c->record, &at, &entry) > 0)
                if ((entry.tag == FIELD_ARGV || entry.tag == FIELD_COMMAND) && count < WORDS_SHOWN)
                        words[count++] = entry.value;
        name_exec(&named.of, s, 0);
        json_init(&input, false);
        json_open_map(&input);
        recorder_write_command(&input, words, count);
        audit_write_allowed(&input, s);
        audit_write_policy(&input, s);
        json_close_map(&input);
        json_init(&output, false);
        json_open_map(&output);
        recorder_write_error(&output, why);
        json_close_map(&output);
        event = event_of("exec.refused", c->caller.owner, s->id, &input, &output);
        if (!input.is_broken && !output.is_broken)
                (void)send_entry(&named, &event);
        json_fini(&input);
        json_fini(&output);
}

void
audit_call_failed(struct call *c, const struct error *why)
{
        const struct sandbox *s;
        struct error ignored;

        if (!recorder.is_there || (c->op->code != OP_EXEC && !c->audit))
                return;
        if (c->audit) {
                part(c, why);
                return;
        }
        s = why->code == ERROR_AUDIT_UNAVAILABLE || why->code == ERROR_AUDIT_BROKEN
                    ? NULL
                    : registry_of_call(c, &ignored);
        if (s && s->row.owner)
                refused(c, s, why);
}

/* -- ends and events --------------------------------------------------------------------------- */

static void
record_end(const struct sandbox *s, const struct wire_box_listed *l, bool is_call)
{
        struct json_writer output = take_writer();
        struct recorder_exec of;
        struct outcome end;
        struct error why;

        json_open_map(&output);
        if (answer_exec_outcome(s->box, l, &end)) {
                ending_write(&output, &end);
                if (is_call)
                        content_write_call(s->box, l->exec, &output);
                else
                        content_write(s->box, l->exec, &end, &output);
        } else {
                (void)start_error_read(&why, &l->failed, NULL, NULL);
                recorder_write_error(&output, &why);
        }
        json_close_map(&output);
        name_exec(&of, s, l->exec);
        send_end(&of, s->row.owner, &output, s->box, l);
        give_writer(&output);
}

void
audit_exec_ended(const struct sandbox *s, const struct wire_box_listed *l)
{
        if (recorder.is_there && s->row.owner && (l->flags & BOX_EXEC_QUIET) == 0)
                record_end(s, l, false);
}

void
audit_call_ended(const struct sandbox *s, const struct wire_box_listed *l)
{
        if (recorder.is_there && s->row.owner)
                record_end(s, l, true);
        content_call_ended(s->box, l->exec);
}

static bool
has_ended(const struct wire_box_listed *l)
{
        return l->state == BOX_EXEC_ENDED || l->state == BOX_EXEC_FAILED;
}

static const struct audit_holder *holder;

void
audit_hold(const struct audit_holder *by)
{
        holder = by;
}

/* Somebody else reports its end, later. */
static bool
is_held(const struct sandbox *s, uint32_t exec)
{
        return holder && holder->holds(s, exec);
}

static uint32_t *const kept = (uint32_t *)(void *)(recorder.body + sizeof(struct recorder_exec));

/* Of this sandbox only the first `count` of `kept` may still run. */
static void
settle(const char *owner, const char *sandbox, uint32_t count)
{
        struct recorder_exec of = { .exec = count };

        (void)snprintf(of.owner, sizeof of.owner, "%s", owner);
        (void)snprintf(of.sandbox, sizeof of.sandbox, "%s", sandbox);
        memcpy(recorder.body, &of, sizeof of);
        (void)peer_send(&recorder.peer, WIRE_AUDIT_SETTLE, recorder.body,
                        sizeof of + count * sizeof *kept, NULL, 0);
}

void
audit_settle(const struct sandbox *s)
{
        uint32_t count = 0;

        if (!recorder.is_there || !s->row.owner)
                return;
        for (size_t i = 0; s->box && i < s->box->exec_count; i++)
                if (has_ended(&s->box->execs[i]) && !is_held(s, s->box->execs[i].exec))
                        audit_exec_ended(s, &s->box->execs[i]);
        for (size_t i = 0; s->box && i < s->box->exec_count; i++)
                if (!has_ended(&s->box->execs[i]) || is_held(s, s->box->execs[i].exec))
                        kept[count++] = s->box->execs[i].exec;
        /* those that wait have an end of their own */
        for (const struct call_audit *a = recorder.waiting; a; a = a->next)
                if (strcmp(a->of.sandbox, s->id) == 0)
                        kept[count++] = a->of.exec;
        _Static_assert((AUDIT_WAITING_MAX + 2 * SANDBOX_EXECS_MAX) * sizeof *kept +
                                       sizeof(struct recorder_exec) <
                               WIRE_BODY_MAX,
                       "room for all");
        settle(s->row.owner, s->id, count);
}

void
audit_gone(struct sandbox *s)
{
        if (recorder.is_there && s->row.owner)
                settle(s->row.owner, s->id, 0);
        audit_refs_free(s);
}

static struct recorder_entry
head_of_event(const char *owner, const char *sandbox)
{
        struct recorder_entry head = { .what = RECORDER_EVENT };

        (void)snprintf(head.of.owner, sizeof head.of.owner, "%s", owner);
        (void)snprintf(head.of.sandbox, sizeof head.of.sandbox, "%s", sandbox);
        return head;
}

/* While the recorder does not read, events are counted instead of kept here. */
static bool
has_room(const char *owner, const char *sandbox)
{
        const struct recorder_entry head = head_of_event(owner, sandbox);
        struct audit_event event = { "events.missed", "host:carrel", "system", "sandbox",
                                     sandbox,         NULL,          NULL };
        char count[64];

        if (peer_is_full(&recorder.peer)) {
                recorder.missed++;
                return false;
        }
        if (recorder.missed > 0) {
                (void)snprintf(count, sizeof count, "{\"count\":%" PRIu64 "}", recorder.missed);
                event.output = count;
                (void)send_entry(&head, &event);
                recorder.missed = 0;
        }
        return true;
}

void
audit_entry(struct sandbox *s, enum event_kind kind, const struct json_writer *output)
{
        struct recorder_entry head;
        struct json_writer input;
        char action[EVENT_ACTION_ROOM];
        struct audit_event event;

        if (!recorder.is_there || !s->row.owner || !has_room(s->row.owner, s->id))
                return;
        head = head_of_event(s->row.owner, s->id);
        if (output->is_broken)
                return;
        json_init(&input, false);
        json_open_map(&input);
        audit_write_allowed(&input, s);
        audit_write_identity(&input, s);
        json_close_map(&input);
        event_action(kind, action);
        event = event_of(action, s->row.owner, s->id, &input, output);
        event.actor_role = "owner";
        if (!input.is_broken)
                (void)send_entry(&head, &event);
        json_fini(&input);
}

void
audit_named(const char *owner, const char *sandbox, const char *action,
            const struct json_writer *output)
{
        const struct recorder_entry head = head_of_event(owner, sandbox);
        struct audit_event event;

        if (output->is_broken || !has_room(owner, sandbox))
                return;
        event = event_of(action, owner, sandbox, NULL, output);
        event.actor_role = "owner";
        (void)send_entry(&head, &event);
}

bool
audit_is_there(void)
{
        return recorder.is_there;
}

bool
audit_is_full(void)
{
        return peer_is_full(&recorder.peer);
}

void
audit_event(struct sandbox *s, const struct event *happened)
{
        struct json_writer output;

        if (!recorder.is_there || !s->row.owner)
                return;
        json_init(&output, false);
        json_open_map(&output);
        event_json(&output, happened);
        json_close_map(&output);
        audit_entry(s, happened->kind, &output);
        json_fini(&output);
}

/* -- answers of the recorder ------------------------------------------------------------------- */

static void
on_done(size_t len)
{
        struct recorder_done done;
        char ref[RECORDER_REF_MAX];
        struct call_audit *a = recorder.waiting;

        memcpy(&done, recorder.body, sizeof done);
        while (a && a->number != done.number)
                a = a->next;
        if (!a)
                return;
        leave_waiting(a);
        if (recorder_answer_read(recorder.body + sizeof done.number, len - sizeof done.number, ref,
                                 &a->why) < 0) {
                a->is_failed = true;
                a->seq = UINT64_MAX; /* it is in no log */
        } else {
                struct error late = a->why;

                a->is_durable = true;
                a->seq = done.answer.seq;
                memcpy(a->chain, done.answer.chain, sizeof a->chain);
                if (!a->call && !a->is_sent)
                        end_with_error(a, &late);
        }
        if (!a->call)
                free(a);
        else
                go_on(a);
}

static struct sandbox *
find_sandbox(struct keeper *k, const char *id)
{
        struct sandbox *s = k->first;

        while (s && strcmp(s->id, id) != 0)
                s = s->next;
        return s;
}

/* A start without an end, from before this keeper. Its sandbox will settle it, unless it is gone.
 */
static void
on_open(void)
{
        const struct wire_box_listed *l;
        struct recorder_open open;
        struct sandbox *s;

        memcpy(&open, recorder.body, sizeof open);
        open.of.owner[sizeof open.of.owner - 1] = '\0';
        open.of.sandbox[sizeof open.of.sandbox - 1] = open.chain[sizeof open.chain - 1] = '\0';
        s = find_sandbox(recorder.keeper, open.of.sandbox);
        if (!s || !s->row.owner) {
                settle(open.of.owner, open.of.sandbox, 0);
                return;
        }
        if (!recorder_is_call(open.of.exec))
                audit_refs_note(s, open.of.exec, open.seq, open.chain);
        /* lint: the sandbox has what audit_refs_note() allocates; audit_gone() frees it */
        l = s->box ? box_find_exec(s->box, open.of.exec) : NULL;
        if (l && holder)
                holder->open(s, l);
        if (!(s->state == SANDBOX_STARTING && s->is_attached) && (!l || has_ended(l)))
                audit_settle(s);
}

static void
on_kept(void)
{
        struct recorder_exec of;

        memcpy(&of, recorder.body, sizeof of);
        of.owner[sizeof of.owner - 1] = of.sandbox[sizeof of.sandbox - 1] = '\0';
        content_kept(recorder.keeper, &of);
}

static void
on_words(struct peer *p, uint32_t events)
{
        struct wire_message m;
        int result = 0;

        (void)events;
        for (int i = 0; i < PEER_BURST; i++) {
                result = wire_receive(p->fd, 0, &m, recorder.body, sizeof recorder.body);
                if (result <= 0)
                        break;
                wire_message_close(&m);
                if (m.kind == WIRE_AUDIT_DONE && m.len >= sizeof(struct recorder_done))
                        on_done(m.len);
                else if (m.kind == WIRE_AUDIT_OPEN && m.len == sizeof(struct recorder_open))
                        on_open();
                else if (m.kind == WIRE_AUDIT_KEPT && m.len == sizeof(struct recorder_exec))
                        on_kept();
        }
        if (!p->is_broken && (result == -EAGAIN || result > 0))
                return;
        (void)fprintf(stderr, "carrel-keeper: the process that writes the audit log has ended; so "
                              "does this one, to be started again\n");
        recorder.keeper->is_stopping = true;
        /* lint: the sandbox has what audit_refs_note() allocates; audit_gone() frees it */
        loop_stop(recorder.keeper->loop);
}

/* bench/living measures what the log costs. */
static bool
is_switched_off(void)
{
#ifdef CARREL_TEST_SWITCHES
        const char *text = getenv("CARREL_TEST_AUDIT");

        return text && strcmp(text, "none") == 0;
#else
        return false;
#endif
}

int
audit_open(struct keeper *k, int take_fd, struct error *e)
{
        int result;

        recorder.keeper = k;
        recorder.patience.due_ms = LOOP_NEVER;
        if (take_fd < 0)
                return 0;
        result = peer_open(&recorder.peer, k->loop, take_fd, on_words);
        if (result < 0)
                return fail_sys(e, ERROR_INTERNAL, -result, "beginning to wait for the recorder");
        recorder.is_there = !is_switched_off();
        return 0;
}
