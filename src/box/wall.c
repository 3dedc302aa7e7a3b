/*
 * box/wall.c - the wall of a sandbox, kept while gates and keepers come and go.
 *
 * Room: box (program). Touches: fd, the engine.
 * Theory: boxstate/wall_state.h defines the rules of a wall; this file connects it to the loop. The
 * group in which a socket was created identifies the exec that was refused, if the engine tells
 * commands apart. A group is reused, so the time must match too. Otherwise, or if the socket was
 * closed before the gate asked, it was the only exec with a running process at that time. If there
 * were several, the refusal is assigned to none. Reports of the gate before a command's end are
 * handled before that end is reported.
 */
#include "box/wall.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "box/engine.h"
#include "box/holder.h"
#include "box/keeper.h"
#include "box/meter.h"
#include "box/state.h"

/* REPORTS_WAITING_MAX: bytes in the queue of a keeper, above which connections are only counted. */
enum { PROTOCOL = 3, HEAR_MAX = 8, REPORTS_WAITING_MAX = 256 << 10 };

static int
ask_engine(void *data, const struct wire_wall_listen *wanted)
{
        struct box *b = data;

        return b->engine->calls->listen(b->engine, wanted);
}

/* True: it had begun at that time, and runs or ran then. */
static bool
ran_at(const struct exec *x, uint64_t at_ms)
{
        return (x->flags & BOX_EXEC_QUIET) == 0 && x->is_sent && x->begun_ms <= at_ms &&
               (!x->is_over || x->started_ms + x->end.duration_ms >= at_ms);
}

static uint32_t
find_by_source(const struct box *b, const struct wire_wall_denied *d)
{
        for (const struct exec *x = b->execs; x; x = x->next)
                if ((x->flags & BOX_EXEC_QUIET) == 0 && x->begun_ms <= d->at_ms &&
                    job_is_source(&x->job, d->cgroup))
                        return x->number;
        return 0;
}

/* True: processes that it left run on. */
static bool
has_left(struct exec *x)
{
        return x->is_over && engine_can(x->box->engine, ENGINE_TELLS_APART) &&
               job_has_processes(&x->job);
}

/* The only exec with a running process at that time; 0 if there were several. */
static uint32_t
find_alone(struct box *b, uint64_t at_ms)
{
        uint32_t alone = 0, count = 0;

        for (struct exec *x = b->execs; x && count < 2; x = x->next)
                if (ran_at(x, at_ms) ||
                    (x->begun_ms <= at_ms && (x->flags & BOX_EXEC_QUIET) == 0 && has_left(x))) {
                        alone = x->number;
                        count++;
                }
        return count == 1 && !b->engine->calls->has_processes(b->engine, NULL) ? alone : 0;
}

static uint32_t
find_exec(void *data, const struct wire_wall_denied *d)
{
        struct box *b = data;

        if (b->one.is_on && b->execs) /* nothing else runs in it */
                return b->execs->number;
        return engine_can(b->engine, ENGINE_TELLS_APART) && d->cgroup != 0
                       ? find_by_source(b, d)
                       : find_alone(b, d->at_ms);
}

/* -- allowed connections ----------------------------------------------------------------------- */

static void
hear_allowed(void *data, const struct wire_wall_allowed *a)
{
        const struct wire_wall_denied asked = { .at_ms = a->at_ms, .cgroup = a->cgroup };
        struct box *b = data;
        struct wire_box_allowed said = { .missed = b->allowed_missed, .a = *a };

        meter_egress(b, a);
        if (a->count == 1)
                said.exec = find_exec(b, &asked);
        for (struct keeper *k = b->keepers; k; k = k->next) {
                if (k->queue.bytes >= REPORTS_WAITING_MAX)
                        continue;
                keeper_say(k, WIRE_BOX_ALLOWED, &said, sizeof said);
                b->allowed_missed = 0;
                return;
        }
        if (a->is_end == 0 && b->allowed_missed <= UINT32_MAX - a->count)
                b->allowed_missed += a->count;
}

void
wall_say_missed(struct keeper *k)
{
        const struct wire_box_allowed said = { .a = { .at_ms = loop_now_ms(),
                                                      .count = k->box->allowed_missed } };

        if (said.a.count > 0)
                keeper_say(k, WIRE_BOX_ALLOWED, &said, sizeof said);
        k->box->allowed_missed = 0;
}

void
wall_init(struct box *b)
{
        b->link.fd = -1;
        b->wall.link = -1;
        b->wall.ask = ask_engine;
        b->wall.find_exec = find_exec;
        b->wall.data = b;
        if (b->protocol >= BOX_PROTOCOL_ALLOWED)
                b->wall.allowed = hear_allowed;
        refusals_init(&b->wall.refusals,
                      (b->begin.flags & BOX_BEGIN_NET_ONLY) != 0 ? NUMBER_REFUSALS_HELD
                                                                 : NUMBER_REFUSALS_LISTED,
                      NUMBER_REFUSALS_HELD);
}

/* -- refusals ---------------------------------------------------------------------------------- */

static void
say_denial(struct keeper *k, const struct wall_state_denial *d)
{
        const struct wire_box_denied denied = { .number = d->number, .exec = d->exec, .d = d->d };

        if (k->box->protocol >= PROTOCOL)
                keeper_say(k, WIRE_BOX_DENIED, &denied, sizeof denied);
}

/* `at` is an index of the list, or its end: then only the counts are sent. */
static void
say_refused(struct keeper *k, const struct refused *of, size_t at)
{
        struct wire_box_refused said = { .total = k->box->wall.refusals.total,
                                         .more = of->more,
                                         .exec = of->exec,
                                         .kept = (uint32_t)of->count,
                                         .at = (uint32_t)at };

        if (k->box->protocol < BOX_PROTOCOL_REFUSED)
                return;
        if (at < of->count) {
                said.count = of->items[at].count;
                said.d = of->items[at].d;
        }
        keeper_say(k, WIRE_BOX_REFUSED, &said, sizeof said);
}

/*
 * A payload can be refused faster than a keeper reads. While a message waits, nothing is added;
 * afterwards the changes are sent with their current values.
 */
void
wall_say_denials(struct keeper *k)
{
        struct wall_state *h = &k->box->wall;
        uint64_t said = k->said_refusals;

        if (said == h->refusals.version)
                return;
        for (uint64_t n = wall_state_denial_after(h, 0); n != 0; n = wall_state_denial_after(h, n))
                if (wall_state_denial(h, n)->version > said)
                        say_denial(k, wall_state_denial(h, n));
        for (const struct refused *one = h->refusals.first; one; one = one->next) {
                for (size_t i = 0; i < one->count; i++)
                        if (one->items[i].version > said)
                                say_refused(k, one, i);
                if (one->version > said)
                        say_refused(k, one, one->count);
        }
        k->said_refusals = h->refusals.version;
}

void
wall_say_held(struct keeper *k)
{
        if (!k->queue.first)
                wall_say_denials(k);
}

static void
say_to_all(struct box *b)
{
        for (struct keeper *k = b->keepers; k; k = k->next)
                wall_say_held(k);
}

/* Without a wall there is no gate: the engine reports. */
int
wall_hear_denied(struct box *b, struct wire_wall_denied *d)
{
        if (b->wall.socket_count > 0 || !wall_state_denied(&b->wall, d))
                return -EPROTO;
        say_to_all(b);
        return 0;
}

/* -- the link ---------------------------------------------------------------------------------- */

static uint32_t
events_of(const struct box *b)
{
        return EPOLLIN | ((wall_state_events(&b->wall) & POLLOUT) != 0 ? EPOLLOUT : 0u);
}

static void
hear(struct box *b)
{
        int result = wall_state_hear(&b->wall);

        say_to_all(b);
        if (result == 0) {
                (void)loop_watch_change(&b->link, events_of(b));
                return;
        }
        /* closed: connections wait in their queues for the next gate */
        loop_watch_forget(&b->link);
        b->calls->unlinked(b);
}

static void
link_ready(struct loop_watch *w, uint32_t events)
{
        (void)events;
        hear(box_holder(w, struct box, link));
}

/*
 * One read may not return everything. The number of reads is limited, so that a payload with many
 * refusals does not block the box.
 */
static void
hear_all(struct box *b)
{
        struct pollfd link = { .events = POLLIN };

        for (int i = 0; i < HEAR_MAX && (link.fd = b->wall.link) >= 0 && poll(&link, 1, 0) > 0; i++)
                hear(b);
}

uint32_t
wall_denied(struct box *b, const struct exec *x)
{
        uint64_t count;

        if (b->wall.socket_count == 0 && b->wall.denied == 0)
                return 0;
        hear_all(b);
        count = refusals_count(refusals_find(&b->wall.refusals, x->number));
        return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

void
wall_forget(struct box *b, const struct exec *x, int is_known)
{
        if (is_known)
                refusals_end(&b->wall.refusals, x->number);
        else
                refusals_forget(&b->wall.refusals, x->number);
}

/* The message is too large for the queue: it is sent now, or the keeper asks again. */
void
wall_hand_out(struct keeper *k)
{
        struct box *b = k->box;
        struct {
                struct wire_box_walled head;
                struct wall_listener listeners[WALL_STATE_LISTENERS_MAX];
        } told = { .head = { .sys = ENOENT } };
        int fds[WALL_STATE_FDS_MAX + 1];
        size_t fd_count, count = 0;
        int result = b->wall.socket_count == 0 || b->state >= BOX_ENDING ? -ENOENT
                     : k->queue.first                                    ? -EAGAIN
                                                                         : 0;

        if (b->protocol < PROTOCOL)
                return;
        if (result == 0) {
                hear_all(b); /* the last messages of the previous gate */
                loop_watch_remove(&b->link);
                result = wall_state_link(&b->wall, fds, &fd_count, told.listeners, &count);
        }
        if (result == 0) {
                told.head = (struct wire_box_walled){
                        0, (uint16_t)count,
                        (uint16_t)(b->wall.is_routed ? wall_state_stock(&b->wall) + 1 : 0)
                };
                result =
                        wire_send(k->queue.fd, WIRE_BOX_WALLED, &told,
                                  sizeof told.head + count * sizeof *told.listeners, fds, fd_count);
                (void)close(fds[0]);
                if (result == 0)
                        result = loop_watch_add(b->loop, &b->link, b->wall.link, events_of(b),
                                                link_ready);
                if (result < 0)
                        wall_state_unlink(&b->wall);
        }
        if (result == 0)
                return;
        /* a socket that is full for a moment: the keeper asks again */
        told.head = (struct wire_box_walled){ .sys = wire_is_for_later(result) ? EAGAIN : -result };
        keeper_say(k, WIRE_BOX_WALLED, &told.head, sizeof told.head);
}
