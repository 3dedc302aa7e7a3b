/*
 * door/mcp_keeper.c - the daemon as the backend of the MCP tools.
 *
 * Room: door (joining). Touches: mem fd random.
 * Theory: a call has a link from its first message to its end: to the keeper until the reply, to
 * the box while there is a channel. The link is dropped before the caller gets the end of the call,
 * because the next call may start in the same struct.
 */
#include "door/mcp_keeper.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "link/follow.h"
#include "loop/deferred.h"
#include "outcome/outcome.h"

enum {
        PATIENCE_MS = 3000 /* as libcarrel reconnects */,
        KEY_ENTRY = 64 /* bytes of a generated key in a record, at most */,
        REPEATS_MAX = 3
};

struct link {
        struct keeper_call call; /* must be first */
        struct mcp_keeper *in;
        /* while it is parked: how long to wait for the daemon's restart */
        struct loop_timer patience;
        struct link *next; /* the next parked link */
        enum operation_code op;
        unsigned char *bytes; /* a copy of its record, if it can be sent again */
        size_t len;
        bool is_parked;
        /* because its channel broke before the command had started */
        unsigned repeats;
        struct follow follow;
        struct mcp_call *of; /* NULL after it was dropped */
        uint64_t seen[2];    /* bytes of each stream that were received */
        bool has_channel, has_started;
};

/* -- waiting for a restarting daemon ----------------------------------------------------------- */

static void
unpark(struct link *l)
{
        struct link **at = &l->in->parked;

        loop_timer_remove(&l->patience);
        while (l->is_parked && *at != l)
                at = &(*at)->next;
        if (l->is_parked)
                *at = l->next;
        l->is_parked = false;
}

/* -- dropping a link --------------------------------------------------------------------------- */

static struct mcp_call *
let_go(struct link *l, bool is_left)
{
        struct mcp_call *c = l->of;

        keeper_cancel(&l->call);
        unpark(l);
        free(l->bytes);
        l->bytes = NULL;
        if (is_left)
                follow_leave(&l->follow);
        else
                follow_close(&l->follow);
        l->of = NULL;
        deferred_free(l);
        c->backend = NULL;
        c->link = NULL;
        return c;
}

static void
end(struct mcp_call *c, bool is_left)
{
        if (c->backend)
                (void)let_go(c->link, is_left);
}

/* -- the channel ------------------------------------------------------------------------------- */

static struct link *
link_of(struct follow *f)
{
        return f->state;
}

static void
on_started(struct follow *f, const struct channel_started *s)
{
        struct mcp_call *c = link_of(f)->of;

        link_of(f)->has_started = true;
        c->ops->started(c, s);
}

static void
on_failed(struct follow *f, const struct wire_exec_failed *failed)
{
        struct mcp_call *c = let_go(link_of(f), false);

        c->ops->failed(c, failed);
}

static void
on_output(struct follow *f, int stream, const void *bytes, size_t len, uint64_t offset)
{
        struct mcp_call *c = link_of(f)->of;

        link_of(f)->seen[stream - 1] = offset + len;
        if (c)
                c->ops->output(c, stream, bytes, len);
}

static void
on_ended(struct follow *f, const struct channel_end *channel_end)
{
        struct mcp_call *c = let_go(link_of(f), false);

        c->ops->ended(c, channel_end);
}

static bool make_again(struct link *l);

static void
on_lost(struct follow *f)
{
        struct link *l = link_of(f);
        struct channel_end lost = { .word = OUTCOME_LOST,
                                    .exit_code = -1,
                                    .stdout_bytes = l->seen[0],
                                    .stderr_bytes = l->seen[1] };
        bool has_started = l->has_started;
        struct mcp_call *c;

        if (!has_started && make_again(l))
                return;
        c = let_go(l, false);
        if (has_started)
                c->ops->ended(c, &lost); /* a command that started reports exactly one end */
        else
                c->ops->lost(c);
}

static void
on_quiet(struct follow *f)
{
        struct mcp_call *c = link_of(f)->of;

        if (c)
                c->ops->quiet(c);
}

static const struct follow_ops to_the_end = { .started = on_started,
                                              .failed = on_failed,
                                              .output = on_output,
                                              .ended = on_ended,
                                              .lost = on_lost };
static const struct follow_ops what_is_there = { .started = on_started,
                                                 .failed = on_failed,
                                                 .output = on_output,
                                                 .ended = on_ended,
                                                 .lost = on_lost,
                                                 .quiet = on_quiet };

/* -- the call ---------------------------------------------------------------------------------- */

static void
refuse(struct link *l, const struct error *e)
{
        struct error kept = *e;
        struct mcp_call *c = let_go(l, false);

        c->ops->refused(c, &kept);
}

/* Opens the channel before it passes on the reply, because the callback may already send. */
static void
reply_with_channel(struct link *l, struct mcp_backend *b, const struct keeper_reply *r)
{
        struct loop *loop = ((struct mcp_keeper *)(void *)b)->loop;
        struct mcp_call *c = l->of;
        struct error e;
        int fd;

        if (r->fd_count == 0) {
                (void)fail(&e, ERROR_PROTOCOL, "the daemon gave no channel");
                refuse(l, &e);
                return;
        }
        fd = r->fds[0];
        r->fds[0] = -1;
        if (follow_open(&l->follow, loop, fd, c->ops->quiet ? &what_is_there : &to_the_end, l) <
            0) {
                (void)fail(&e, ERROR_NO_MEMORY, "there is no memory left for a channel");
                refuse(l, &e);
                return;
        }
        c->ops->reply(c, &r->fields, true);
}

static void
out_of_patience(struct loop_timer *t)
{
        struct link *l = (struct link *)(void *)((char *)t - offsetof(struct link, patience));
        struct error e;

        (void)fail(&e, ERROR_UNAVAILABLE,
                   "the daemon did not come back within %d s: %s was not delivered, and nothing of "
                   "it was done",
                   PATIENCE_MS / 1000, operation(l->op)->name);
        refuse(l, &e);
}

static int
park(struct link *l, struct error *e)
{
        struct link **at = &l->in->parked;

        if (loop_timer_set(l->in->loop, &l->patience, loop_now_ms() + PATIENCE_MS,
                           out_of_patience) < 0)
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for a timer");
        while (*at)
                at = &(*at)->next;
        l->next = NULL;
        *at = l;
        l->is_parked = true;
        return 0;
}

/*
 * The call may already have had its effect. It is repeated only if a second execution has no
 * further effect.
 */
static bool
may_repeat(const struct link *l)
{
        struct record r = { l->bytes, l->len };
        struct record_entry key;

        return l->bytes &&
               ((operation(l->op)->flags & (OPERATION_READ | OPERATION_IDEMPOTENT)) != 0 ||
                record_find(&r, FIELD_KEY, &key));
}

static int
send_again(struct link *l, struct error *e)
{
        const struct record_writer w = { .bytes = l->bytes, .len = l->len, .room = l->len };

        return keeper_call(l->in->keeper, &l->call, l->op, &w, e);
}

/*
 * The keeper that gave the channel died before its box received the other end. A call that may not
 * be repeated is lost.
 */
static bool
make_again(struct link *l)
{
        struct error e;

        if (!may_repeat(l) || l->repeats++ == REPEATS_MAX)
                return false;
        follow_close(&l->follow);
        return (l->in->keeper && send_again(l, &e) == 0) || park(l, &e) == 0;
}

void
mcp_keeper_is_back(struct mcp_keeper *b)
{
        struct link *l = b->parked, *next;
        struct error e;

        b->parked = NULL;
        for (; l; l = next) {
                next = l->next;
                l->is_parked = false;
                loop_timer_remove(&l->patience);
                if (send_again(l, &e) < 0 && park(l, &e) < 0)
                        refuse(l, &e);
        }
}

/* The call was sent, and the daemon ended before it answered. */
static void
lost_answer(struct link *l, const struct error *gone)
{
        struct error e;

        if (may_repeat(l) && park(l, &e) == 0)
                return;
        (void)fail(&e, gone->code,
                   "the daemon ended before it answered: whether %s was done is not known. Look "
                   "before you repeat it",
                   operation(l->op)->name);
        refuse(l, &e);
}

static void
on_reply(struct keeper_call *call, const struct keeper_reply *r)
{
        struct link *l = (struct link *)(void *)call;
        struct mcp_call *c = l->of;

        if (r->error && r->error->code == ERROR_UNAVAILABLE &&
            strcmp(r->error->reason, KEEPER_GONE) == 0) {
                lost_answer(l, r->error);
        } else if (r->error) {
                refuse(l, r->error);
        } else if (l->has_channel && r->is_last) {
                reply_with_channel(l, c->backend, r);
        } else {
                if (r->is_last)
                        (void)let_go(l, false);
                c->ops->reply(c, &r->fields, r->is_last);
        }
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
        struct record r = { w->bytes, w->len };
        struct record_entry given;
        uint64_t chance[2];
        char key[sizeof "own-" + 32];

        if (w->is_broken || w->room - w->len < KEY_ENTRY || !takes_key(op) ||
            record_find(&r, FIELD_KEY, &given))
                return;
        if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance)
                return;
        (void)snprintf(key, sizeof key, "own-%016" PRIx64 "%016" PRIx64, chance[0], chance[1]);
        record_text(w, FIELD_KEY, key);
}

/* The door never repeats calls and keeps no copy: it ends together with its keeper. */
static void
keep_copy(struct link *l, const struct record_writer *w)
{
        l->bytes = w->is_broken ? NULL : malloc(w->len + 1);
        l->len = w->len;
        if (l->bytes && w->len > 0)
                memcpy(l->bytes, w->bytes, w->len);
}

/*
 * Was the call not delivered because the daemon is not running? `e` is the reason, if there was
 * one.
 */
static bool
may_wait(const struct link *l, const struct record_writer *w, struct error *e)
{
        if (!l->in->keeper)
                (void)fail(e, ERROR_UNAVAILABLE,
                           "the daemon is not there, and nothing was done: try again in a moment");
        return l->bytes && !w->is_broken && e->code == ERROR_UNAVAILABLE;
}

static int
begin(struct mcp_backend *b, struct mcp_call *c, const struct api_peer *who, enum operation_code op,
      struct record_writer *w, struct error *e)
{
        struct mcp_keeper *k = (struct mcp_keeper *)(void *)b;
        struct link *l = deferred_make(k->loop, struct link);

        if (!l)
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for a call");
        l->call.reply = on_reply;
        l->of = c;
        l->in = k;
        l->op = op;
        l->patience.due_ms = LOOP_NEVER;
        l->has_channel = operation(op)->flags & OPERATION_CHANNEL;
        if (k->says_who) {
                keeper_identify(w, who);
        } else {
                give_own_key(w, op);
                keep_copy(l, w);
        }
        if ((!k->keeper || keeper_call(k->keeper, &l->call, op, w, e) < 0) &&
            (!may_wait(l, w, e) || park(l, e) < 0)) {
                free(l->bytes);
                deferred_free(l);
                return -1;
        }
        c->backend = b;
        c->link = l;
        return 0;
}

static void
send_frame(struct mcp_call *c, uint32_t kind, const void *bytes, size_t len)
{
        if (c->backend)
                follow_send(&((struct link *)c->link)->follow, kind, bytes, len);
}

void
mcp_keeper_init(struct mcp_keeper *b, struct loop *l, struct keeper *k, bool says_who)
{
        *b = (struct mcp_keeper){
                .backend = { begin, send_frame, end }, .loop = l, .keeper = k, .says_who = says_who
        };
}
