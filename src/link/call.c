/*
 * link/call.c - one asynchronous call to the keeper.
 *
 * Room: link (acting). Touches: mem fd random.
 * Theory: link/keeper.c correlates a reply with its call by number, link/follow.c reads and writes
 * a channel; this file decides what a call does next. A call is IDLE before its last callback, so
 * every way to its end is in idle().
 */
#include "link/call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "outcome/outcome.h"

enum { KEY_ENTRY = 64 /* bytes of a generated key in a record, at most */ };

/* -- states ------------------------------------------------------------------------------------ */

static void
unpark(struct link_call *c)
{
        struct link_call **at = &c->link->parked;

        loop_timer_remove(&c->patience);
        while (*at && *at != c)
                at = &(*at)->next;
        if (*at)
                *at = c->next;
}

static void
idle(struct link_call *c, bool is_left)
{
        if (c->state == LINK_CALL_IDLE)
                return;
        if (c->state == LINK_CALL_PARKED)
                unpark(c);
        keeper_cancel(&c->call);
        if (is_left)
                follow_leave(&c->follow);
        else
                follow_close(&c->follow);
        free(c->bytes);
        c->bytes = NULL;
        c->link->count--;
        c->state = LINK_CALL_IDLE;
}

static void
refuse(struct link_call *c, const struct error *e)
{
        idle(c, false);
        if (c->ops->refused)
                c->ops->refused(c, e);
}

/* -- repeats ----------------------------------------------------------------------------------- */

static bool
has_key(const struct record *r)
{
        return record_find(r, FIELD_KEY, &(struct record_entry){ 0 });
}

/*
 * The call may already have had its effect. It is repeated only if a second execution has no
 * further effect, and if no item would be passed on twice.
 */
static bool
may_repeat(const struct link_call *c)
{
        return c->bytes && !c->has_items &&
               ((operation(c->op)->flags & (OPERATION_READ | OPERATION_IDEMPOTENT)) != 0 ||
                has_key(&(struct record){ c->bytes, c->len }));
}

static void
out_of_patience(struct loop_timer *t)
{
        struct link_call *c =
                (struct link_call *)(void *)((char *)t - offsetof(struct link_call, patience));
        struct error e;

        if (c->was_sent)
                (void)fail(&e, ERROR_UNAVAILABLE,
                           "the daemon did not come back within %d s: whether %s was done is not "
                           "known. Look before you repeat it",
                           LINK_PARKED_MS / 1000, operation(c->op)->name);
        else
                (void)fail(&e, ERROR_UNAVAILABLE,
                           "the daemon did not come back within %d s: %s was not delivered, and "
                           "nothing of it was done",
                           LINK_PARKED_MS / 1000, operation(c->op)->name);
        refuse(c, &e);
}

static int
park(struct link_call *c, struct error *e)
{
        struct link_call **at = &c->link->parked;

        if (loop_timer_set(c->link->loop, &c->patience, loop_now_ms() + LINK_PARKED_MS,
                           out_of_patience) < 0)
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for a timer");
        while (*at)
                at = &(*at)->next;
        c->next = NULL;
        *at = c;
        c->state = LINK_CALL_PARKED;
        return 0;
}

static void on_reply(struct keeper_call *call, const struct keeper_reply *r);
static void on_event(struct keeper_call *call, const struct record *fields);

static int
send_call(struct link_call *c, const struct record_writer *w, struct error *e)
{
        c->call = (struct keeper_call){ .reply = on_reply,
                                        .event = c->ops->event || c->ops->given ? on_event : NULL };
        if (!c->link->keeper)
                return fail(e, ERROR_UNAVAILABLE,
                            "the daemon is not there, and nothing was done: try again in a moment");
        if (keeper_call(c->link->keeper, &c->call, c->op, w, e) < 0)
                return -1;
        c->state = LINK_CALL_SENT;
        c->was_sent = true;
        return 0;
}

static int
send_again(struct link_call *c, struct error *e)
{
        return send_call(c, &(struct record_writer){ .bytes = c->bytes, .len = c->len }, e);
}

/*
 * The keeper that gave the channel ended before the box received the other end. A call that may not
 * be repeated is lost.
 */
static bool
make_again(struct link_call *c)
{
        struct error e;

        if (!may_repeat(c) || c->repeats++ == LINK_REPEATS_MAX)
                return false;
        keeper_cancel(&c->call);
        follow_close(&c->follow);
        return send_again(c, &e) == 0 || park(c, &e) == 0;
}

/* The call was sent, and the keeper ended before it answered. */
static void
lost_answer(struct link_call *c, const struct error *gone)
{
        const struct operation *o = operation(c->op);
        struct error e;

        if (c->state == LINK_CALL_SENT && may_repeat(c) && park(c, &e) == 0)
                return;
        e = *gone;
        if (c->state == LINK_CALL_SENT && (o->flags & OPERATION_READ) == 0)
                (void)fail_at(&e, gone->code, NULL, KEEPER_GONE,
                              "the daemon ended before it answered: whether %s was done is not "
                              "known. Look before you repeat it",
                              o->name);
        refuse(c, &e);
}

/* -- the channel ------------------------------------------------------------------------------- */

static struct link_call *
of_follow(struct follow *f)
{
        return f->state;
}

static void
on_started(struct link_call *c, const struct channel_started *s)
{
        c->state = LINK_CALL_RUNNING;
        if (c->ops->started)
                c->ops->started(c, s);
}

static void
on_output(struct link_call *c, int stream, const struct channel_piece *p)
{
        uint64_t *seen = &c->seen[stream - 1];

        c->gaps += p->offset > *seen ? p->offset - *seen : 0;
        *seen = p->offset + p->len;
        if (c->ops->output)
                c->ops->output(c, stream, p->bytes, p->len, p->offset);
}

static void
on_ended(struct link_call *c, const struct channel_end *end)
{
        idle(c, false);
        if (c->ops->ended)
                c->ops->ended(c, end);
}

static void
on_lost(struct follow *f)
{
        struct link_call *c = of_follow(f);
        struct channel_end end = { .word = OUTCOME_LOST,
                                   .exit_code = -1,
                                   .stdout_bytes = c->seen[0],
                                   .stderr_bytes = c->seen[1],
                                   .dropped_bytes = c->gaps };
        bool has_started = c->state == LINK_CALL_RUNNING;

        if (!has_started && make_again(c))
                return;
        idle(c, false);
        if (!has_started && c->ops->lost)
                c->ops->lost(c);
        else if (has_started && c->ops->cut)
                c->ops->cut(c, &end);
        else if (has_started && c->ops->ended)
                c->ops->ended(c, &end); /* a command that started reports exactly one end */
}

static void
on_piece(struct follow *f, const struct channel_piece *p)
{
        struct link_call *c = of_follow(f);

        switch (p->kind) {
        case CHANNEL_STARTED:
                on_started(c, p->bytes);
                break;
        case CHANNEL_STDOUT:
        case CHANNEL_STDERR:
                on_output(c, p->kind == CHANNEL_STDOUT ? 1 : 2, p);
                break;
        case CHANNEL_FAILED:
                idle(c, false);
                if (c->ops->failed)
                        c->ops->failed(c, p->bytes);
                break;
        case CHANNEL_END:
                on_ended(c, p->bytes);
                break;
        default: /* the reader lets no other kind pass */
                on_lost(f);
        }
}

static size_t
room(struct follow *f)
{
        const struct link_call *c = of_follow(f);

        return c->ops->room ? c->ops->room(of_follow(f)) : SIZE_MAX;
}

static void
on_writable(struct follow *f)
{
        if (of_follow(f)->ops->writable)
                of_follow(f)->ops->writable(of_follow(f));
}

static void
on_quiet(struct follow *f)
{
        of_follow(f)->ops->quiet(of_follow(f));
}

static const struct follow_ops to_the_end = {
        .piece = on_piece, .lost = on_lost, .room = room, .writable = on_writable
};
static const struct follow_ops what_is_there = {
        .piece = on_piece, .lost = on_lost, .room = room, .writable = on_writable, .quiet = on_quiet
};

/* -- replies ----------------------------------------------------------------------------------- */

static void
refuse_reply(struct link_call *c, const char *what)
{
        struct error e;

        (void)fail(&e, ERROR_PROTOCOL, "the daemon gave no %s", what);
        refuse(c, &e);
}

static int
take_fd(const struct keeper_reply *r)
{
        int fd = r->fd_count > 0 ? r->fds[0] : -1;

        if (fd >= 0)
                r->fds[0] = -1;
        return fd;
}

/* Opens the channel before it passes on the reply, because the callback may already send. */
static void
open_channel(struct link_call *c, const struct keeper_reply *r)
{
        int fd = take_fd(r);
        struct error e;

        if (fd < 0 && c->ops->unopened) {
                idle(c, false);
                c->ops->unopened(c, &r->fields);
        } else if (fd < 0) {
                refuse_reply(c, "channel");
        } else if (follow_open(&c->follow, c->link->loop, fd,
                               c->ops->quiet ? &what_is_there : &to_the_end, c) < 0) {
                (void)fail(&e, ERROR_NO_MEMORY, "there is no memory left for a channel");
                refuse(c, &e);
        } else {
                c->state = LINK_CALL_OPEN;
                if (c->ops->reply)
                        c->ops->reply(c, &r->fields, true);
        }
}

static void
give(struct link_call *c, const struct keeper_reply *r)
{
        int fd = take_fd(r);

        if (fd < 0) {
                refuse_reply(c, "descriptor");
                return;
        }
        c->state = LINK_CALL_ANSWERED;
        c->ops->given(c, &r->fields, fd);
}

static struct link_call *
of_call(struct keeper_call *call)
{
        return (struct link_call *)(void *)((char *)call - offsetof(struct link_call, call));
}

static void
take_results(struct link_call *c, const struct keeper_reply *r)
{
        if (r->is_last && !c->ops->event)
                idle(c, false);
        else if (r->is_last)
                c->state = LINK_CALL_ANSWERED;
        else
                c->has_items = true;
        if (c->ops->reply)
                c->ops->reply(c, &r->fields, r->is_last);
}

static void
on_reply(struct keeper_call *call, const struct keeper_reply *r)
{
        struct link_call *c = of_call(call);
        bool is_gone = r->error && r->error->code == ERROR_UNAVAILABLE &&
                       strcmp(r->error->reason, KEEPER_GONE) == 0;

        if (c->state == LINK_CALL_OPEN || c->state == LINK_CALL_RUNNING)
                return; /* it needs the link for events alone */
        if (c->state == LINK_CALL_ANSWERED && !r->error)
                return; /* a second last reply */
        if (is_gone)
                lost_answer(c, r->error);
        else if (r->error)
                refuse(c, r->error);
        else if ((operation(c->op)->flags & OPERATION_CHANNEL) != 0)
                open_channel(c, r);
        else if (c->ops->given)
                give(c, r);
        else
                take_results(c, r);
}

static void
on_event(struct keeper_call *call, const struct record *fields)
{
        struct link_call *c = of_call(call);

        if (c->ops->event)
                c->ops->event(c, fields);
}

/* -- the link ---------------------------------------------------------------------------------- */

void
link_init(struct link *l, struct loop *loop, unsigned flags, void (*gone)(void *data), void *data)
{
        *l = (struct link){ .loop = loop, .flags = flags, .gone = gone, .data = data };
}

int
link_connect(struct link *l, int take_fd, struct error *e)
{
        size_t count = 0;

        keeper_close(l->keeper);
        l->keeper = NULL;
        if (keeper_open(l->loop, take_fd, l->gone, l->data, &l->keeper, e) < 0) {
                (void)close(take_fd);
                return -1;
        }
        for (const struct link_call *c = l->parked; c; c = c->next)
                count++;
        for (; count > 0 && l->parked; count--) {
                struct link_call *c = l->parked;
                struct error why;

                unpark(c);
                if (send_again(c, &why) < 0 && park(c, &why) < 0)
                        refuse(c, &why);
        }
        return 0;
}

void
link_close(struct link *l)
{
        keeper_close(l->keeper);
        l->keeper = NULL;
}

/* -- for callers ------------------------------------------------------------------------------- */

static void
say_who(struct record_writer *w, const struct api_peer *who)
{
        if (who->token)
                record_text(w, FIELD_TOKEN, who->token);
        else
                record_uint(w, FIELD_UID, who->uid);
}

static bool
takes_key(enum operation_code op)
{
        const struct operation *o = operation(op);

        for (size_t i = 0; i < o->param_count; i++)
                if (o->params[i].tag == FIELD_KEY)
                        return true;
        return false;
}

/*
 * Adds a generated key to a call without a client's key. The call can then be repeated if the
 * daemon ends before it answers, and still has only one effect.
 */
static void
give_own_key(struct record_writer *w, enum operation_code op)
{
        uint64_t chance[2];
        char key[sizeof "own-" + 32];

        if (w->is_broken || w->room - w->len < KEY_ENTRY || !takes_key(op) ||
            has_key(&(struct record){ w->bytes, w->len }) ||
            getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance)
                return;
        (void)snprintf(key, sizeof key, "own-%016" PRIx64 "%016" PRIx64, chance[0], chance[1]);
        record_text(w, FIELD_KEY, key);
}

static void
keep_copy(struct link_call *c, const struct record_writer *w)
{
        c->bytes = w->is_broken ? NULL : malloc(w->len + 1);
        c->len = w->len;
        if (c->bytes && w->len > 0)
                memcpy(c->bytes, w->bytes, w->len);
}

int
link_call_begin(struct link *l, struct link_call *c, const struct api_peer *who,
                enum operation_code op, struct record_writer *w, struct error *e)
{
        struct record record = { w->bytes, w->len };

        idle(c, false);
        if (l->count >= LINK_CALLS_MAX)
                return fail(e, ERROR_UNAVAILABLE,
                            "%d calls wait for the daemon already: try again in a moment",
                            LINK_CALLS_MAX);
        *c = (struct link_call){ .ops = c->ops, .link = l, .op = op };
        c->seen[0] = record_get_uint(&record, FIELD_STDOUT_OFFSET, 0);
        c->seen[1] = record_get_uint(&record, FIELD_STDERR_OFFSET, 0);
        if ((l->flags & LINK_SAYS_WHO) != 0 && who)
                say_who(w, who);
        if ((l->flags & LINK_RETURNS) != 0) {
                give_own_key(w, op);
                keep_copy(c, w);
        }
        if (send_call(c, w, e) < 0 &&
            (!c->bytes || e->code != ERROR_UNAVAILABLE || park(c, e) < 0)) {
                /* lint: what keep_copy() allocated: the struct was overwritten after idle() */
                free(c->bytes);
                c->bytes = NULL;
                return -1;
        }
        l->count++;
        return 0;
}

void
link_call_end(struct link_call *c)
{
        idle(c, false);
}

void
link_call_leave(struct link_call *c)
{
        idle(c, true);
}

void
link_call_send(struct link_call *c, uint32_t kind, const void *bytes, size_t len)
{
        follow_send(&c->follow, kind, bytes, len);
}

size_t
link_call_pending(const struct link_call *c)
{
        return follow_pending(&c->follow);
}

void
link_call_pause(struct link_call *c)
{
        if (c->follow.is_open)
                follow_pause(&c->follow);
}

void
link_call_resume(struct link_call *c)
{
        follow_resume(&c->follow);
}
