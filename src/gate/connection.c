/*
 * gate/connection.c - one connection out of a wall, from accept(2) to its end.
 *
 * Room: gate (acting). Touches: net, fd, clock, mem.
 * Theory: gate/connection_parts.h draws its states. Every connection is accepted, and reset above a
 * cap: a full queue would let one client block another. Before relaying, a connection costs this
 * struct and the bytes that it sent. Afterwards it costs pipes, lent while they contain bytes.
 * Events and timers only note what happened. The work is done in the turn of the wall
 * (gate/turn.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gate/accept_retry.h"
#include "gate/connection.h"
#include "gate/connection_parts.h"
#include "gate/denials.h"
#include "gate/stand_in.h"
#include "gate/tape.h"
#include "gate/test_switches.h"

/* LATER_SHARE: a connection that waits beside many others checks less often. */
enum {
        LEAVING_MS = 2000,
        LATER_MS = 10,
        LATER_SHARE = 32,
        LEAVE_DRAIN_MAX = 1 << 20,
        LEAVE_DRAIN_ONCE = 1 << 16,
        DRAIN_ROUNDS = 64,
        FIRST_BYTES = JUDGE_HOLD_MAX
};

#define EDGES (EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLET)

static void relay_pump(struct connection *c);
static void greeting_late(struct connection *c);
static void go_on(struct job *j);

/* -- events ------------------------------------------------------------------------------------ */

static void
note(struct connection *c)
{
        turn_want(&c->wall->turn, &c->job, go_on);
}

static void
client_event(struct loop_watch *w, uint32_t events)
{
        struct connection *c =
                (struct connection *)((char *)w - offsetof(struct connection, client));

        c->said |= events;
        c->out.is_urgent |= (events & EPOLLPRI) != 0;
        if ((events & (EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0)
                c->out.from_ready = true;
        c->out.from_ends |= (events & EPOLLRDHUP) != 0;
        if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0)
                c->in.to_ready = true;
        note(c);
}

static void
server_event(struct loop_watch *w, uint32_t events)
{
        struct connection *c =
                (struct connection *)((char *)w - offsetof(struct connection, server));

        c->in.is_urgent |= (events & EPOLLPRI) != 0;
        if ((events & (EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0)
                c->in.from_ready = true;
        c->in.from_ends |= (events & EPOLLRDHUP) != 0;
        if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0)
                c->out.to_ready = true;
        note(c);
}

static void
time_came(struct loop_timer *t)
{
        struct connection *c =
                (struct connection *)((char *)t - offsetof(struct connection, timer));

        c->is_late = true;
        note(c);
}

int
connection_wait(struct connection *c, uint64_t due_ms, void (*when_late)(struct connection *c))
{
        c->is_late = false;
        c->when_late = when_late;
        return loop_timer_set(c->wall->gate->loop, &c->timer, due_ms, time_came);
}

/* -- the end ----------------------------------------------------------------------------------- */

static void
close_socket(struct loop_watch *w, bool with_reset)
{
        struct linger at_once = { 1, 0 };
        int fd = w->fd;

        if (fd < 0)
                return;
        loop_watch_forget(w); /* no other process holds it */
        if (with_reset)
                (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        (void)close(fd);
}

static struct allowed_connection
as_allowed(const struct connection *c)
{
        return (struct allowed_connection){ c->host.text, c->port, c->server.fd, &c->from, &c->to };
}

static void
report_begin(struct connection *c)
{
        struct allowed_connection one = as_allowed(c);

        c->opened_ms = loop_now_ms();
        allowed_opened(&c->wall->allowed, &one);
}

struct connection *
connection_report(struct connection *c)
{
        struct allowed_connection one = as_allowed(c);

        if (c->opened_ms != 0)
                allowed_closed(&c->wall->allowed, &one, c->out.passed, c->in.passed,
                               loop_now_ms() - c->opened_ms);
        c->opened_ms = 0;
        player_judge(c->player);
        tape_close(c->taped);
        c->out.taped = c->in.taped = c->taped = NULL;
        return c->next;
}

/* An end by the server that is no end of its bytes: when the command sees it depends on time. */
static void
tape_reset(struct connection *c)
{
        if (c->taped && (c->in.is_reset || c->out.is_unsent))
                tape_stop(&c->wall->tape, "reset", c->host.text, c->port);
}

static void
end(struct connection *c, bool with_reset)
{
        struct gate *g = c->wall->gate;

        if (c->state == CONNECTION_DEAD)
                return;
        c->state = CONNECTION_DEAD;
        tape_reset(c);
        (void)connection_report(c);
        job_end(&c->job);
        loop_timer_remove(&c->timer);
        if (c->dial)
                dial_stop(c->dial);
        free(c->dial);
        c->dial = NULL;
        greeting_fini(c);
        player_end(c->player);
        c->player = NULL;
        close_socket(&c->client, with_reset);
        close_socket(&c->server, with_reset);
        flow_fini(&c->out);
        flow_fini(&c->in);
        policy_unref(c->policy);
        c->policy = NULL;
        *c->back = c->next;
        if (c->next)
                c->next->back = c->back;
        c->wall->connection_count--;
        fair_share_give(&g->sockets, &c->wall->sockets, c->sockets);
        c->next = g->dead;
        g->dead = c;
}

void
connection_reset(struct connection *c)
{
        end(c, true);
}

void
connection_reap(struct gate *g)
{
        while (g->dead) {
                struct connection *c = g->dead;

                g->dead = c->next;
                free(c);
        }
}

/* -- leaving ----------------------------------------------------------------------------------- */

/* Reads and discards what the client still sends, so that it can read the answer. */
static void
leave_drain(struct connection *c)
{
        char waste[4096];
        size_t once = 0;
        ssize_t got;

        do {
                got = recv(c->client.fd, waste, sizeof waste, MSG_DONTWAIT);
                once += got > 0 ? (size_t)got : 0;
        } while (got > 0 && once < LEAVE_DRAIN_ONCE);
        c->out.piped += once;
        turn_use(&c->wall->turn, once / TURN_BYTES);
        if (got > 0 && c->out.piped < LEAVE_DRAIN_MAX)
                note(c);
        else if (got >= 0 || (errno != EAGAIN && errno != EINTR))
                end(c, got > 0);
}

static void
time_is_over(struct connection *c)
{
        end(c, true);
}

void
connection_leave(struct connection *c, const char *bytes, size_t len)
{
        int fd = c->client.fd;

        loop_watch_remove(&c->client);
        flow_fini(&c->out);
        c->out.piped = 0;
        c->state = CONNECTION_LEAVING;
        if (send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len ||
            shutdown(fd, SHUT_WR) < 0 ||
            connection_wait(c, loop_now_ms() + LEAVING_MS, time_is_over) < 0 ||
            loop_watch_add(c->wall->gate->loop, &c->client, fd, EPOLLIN | EPOLLET, client_event) <
                    0) {
                c->client.fd = fd;
                end(c, true);
        }
}

/* -- relaying ---------------------------------------------------------------------------------- */

/* The first bytes of the server say whether it accepts the requested change of protocol. */
static enum flow_state
hear_switch(struct connection *c)
{
        static char bytes[JUDGE_HOLD_MAX];
        ssize_t got;
        int answer;

        if (!c->in.from_ready)
                return FLOW_WAITS;
        got = recv(c->in.from, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
        if (got < 0) {
                c->in.from_ready = false;
                return errno == EAGAIN || errno == EINTR ? FLOW_WAITS : FLOW_BROKEN;
        }
        answer = judge_answered(c->out.judge, bytes, (size_t)got);
        if (answer == -1 && got > 0 && !c->in.from_ends) {
                c->in.from_ready = false; /* wait for the next event */
                return FLOW_WAITS;
        }
        if (answer < 0)
                return FLOW_BROKEN;
        c->out.waits = false;
        if (answer == 1) {
                c->in.answers = NULL;
                judge_free(c->out.judge);
                c->out.judge = NULL;
        }
        return FLOW_AGAIN;
}

static enum flow_state
pump_in(struct connection *c)
{
        enum flow_state heard;

        if (!c->out.waits)
                return flow_pump(&c->in);
        heard = hear_switch(c);
        return heard == FLOW_AGAIN ? flow_pump(&c->in) : heard;
}

/*
 * A later request is refused. The position of its answer is known only for plain HTTP, and only if
 * all answers were followed from the first one.
 */
static bool
can_answer(const struct connection *c)
{
        return c->in.answers && !c->in.answers->is_unknown && c->out.reason != DENIAL_BYTES &&
               !quota_is_closed(&c->wall->quota) && !c->out.waits;
}

/* True: the last owed answer has passed, so the refusal is next. */
static bool
is_turn(const struct connection *c, enum flow_state out)
{
        return out == FLOW_OVER && answers_are_over(c->in.answers) && c->in.piped == 0;
}

static void
answer_late(struct connection *c)
{
        struct egress_host other = c->out.other;

        c->in.answers = NULL;
        close_socket(&c->server, true);
        flow_fini(&c->in);
        connection_reply(c, c->late, other.text);
}

static enum flow_state
pump_out(struct connection *c)
{
        enum flow_state out;

        if (c->late != DENIAL_NONE)
                return can_answer(c) ? flow_send_rest(&c->out) : FLOW_BROKEN;
        out = flow_pump(&c->out);
        if (out != FLOW_REFUSED)
                return out;
        connection_tell(c, c->out.reason, c->out.other.text);
        if (!can_answer(c))
                return FLOW_BROKEN;
        c->late = c->out.reason;
        return flow_send_rest(&c->out);
}

/* Refuses it in words, as before its dial, if no byte has passed yet. */
static bool
is_refused_unsent(struct connection *c)
{
        const struct quota *q = &c->wall->quota;

        if (!quota_is_closed(q) || c->out.passed > 0 || c->in.passed > 0)
                return false;
        c->late = q->reason;
        connection_tell(c, c->late, NULL);
        answer_late(c);
        return true;
}

static void
relay_pump(struct connection *c)
{
        enum flow_state out, in;
        bool had_to_wait;

        if (is_refused_unsent(c))
                return;
        c->out.is_last = c->in.is_shut;
        out = pump_out(c);
        if (out == FLOW_BROKEN) {
                end(c, true);
                return;
        }
        had_to_wait = c->out.waits;
        c->in.is_last = c->out.is_shut;
        in = pump_in(c);
        if (in == FLOW_REFUSED)
                connection_tell(c, c->in.reason, NULL);
        if (in == FLOW_REFUSED || in == FLOW_BROKEN) {
                end(c, true);
                return;
        }
        if (c->late != DENIAL_NONE && is_turn(c, out)) {
                answer_late(c);
                return;
        }
        if (in == FLOW_OVER && (out == FLOW_OVER || c->late != DENIAL_NONE)) {
                end(c, c->late != DENIAL_NONE);
                return;
        }
        if (in == FLOW_AGAIN || out == FLOW_AGAIN || (had_to_wait && !c->out.waits))
                note(c);
        else if (in == FLOW_LATER || out == FLOW_LATER)
                (void)connection_wait(
                        c, loop_now_ms() + LATER_MS + c->wall->connection_count / LATER_SHARE,
                        NULL);
}

static void
drain(struct connection *c)
{
        if (c->state != CONNECTION_RELAYING || c->late != DENIAL_NONE || c->is_unchecked)
                return;
        c->out.from_ready = true;
        for (int i = 0; i < DRAIN_ROUNDS && flow_pump(&c->out) == FLOW_AGAIN; i++)
                continue;
}

/* What of it is recorded: TLS has other keys each time. */
static void
tape_begins(struct connection *c)
{
        struct tape *t = &c->wall->tape;

        if (c->protocol == PROTOCOL_TLS)
                tape_stop(t, "tls", c->host.text, c->port);
        c->taped = tape_open(t, c->host.text, c->port);
        c->out.taped = c->in.taped = c->taped;
        c->out.copies = c->in.copies = c->taped || c->player;
}

/* Both ends are watched already; this reads again what the server has sent. */
static void
relay_begin(struct connection *c)
{
        if (c->owes_answer) {
                c->protocol = PROTOCOL_TCP;
                if (!proxy_answer(c))
                        return;
        }
        c->state = CONNECTION_RELAYING;
        report_begin(c);
        tape_begins(c);
        (void)connection_wait(c, LOOP_NEVER, NULL);
        c->out.wall = c->in.wall = c->wall;
        c->out.from = c->in.to = c->client.fd;
        c->out.to = c->in.from = c->server.fd;
        c->out.is_out = true;
        c->in.answers = judge_answers(c->out.judge);
        c->out.from_ready = c->in.to_ready = c->out.to_ready = true;
        note(c);
}

/* -- dialling ---------------------------------------------------------------------------------- */

static void
dialled(struct dial *d, enum denial reason)
{
        struct connection *c = d->data;

        c->dial = NULL; /* a relay can live long, so it frees what only the
                         * start needed */
        free(d);
        if (reason != DENIAL_NONE) {
                tape_failed(&c->wall->tape, c->host.text, c->port, reason);
                connection_deny(c, reason, NULL);
        } else {
                relay_begin(c);
        }
}

static void
player_broke(void *data)
{
        end(data, true);
}

/* A replay: no address is looked up, and nothing is dialled. */
static void
meet_player(struct connection *c)
{
        int fd = -1;
        enum denial reason = stand_in_dial(c->wall->stand_in, c->host.text, c->port, player_broke,
                                           c, &fd, &c->player);

        if (reason != DENIAL_NONE) {
                connection_deny(c, reason, NULL);
        } else if (loop_watch_add(c->wall->gate->loop, &c->server, fd, EDGES, server_event) < 0) {
                c->server.fd = fd;
                end(c, true);
        } else {
                relay_begin(c);
        }
}

/*
 * Takes a descriptor of the gate. A single wall can use more than three quarters of them. With many
 * greedy walls, a new wall still gets its own part.
 */
static bool
take_socket(struct connection *c)
{
        if (!fair_share_take(&c->wall->gate->sockets, &c->wall->sockets, 1))
                return false;
        c->sockets++;
        return true;
}

/*
 * From now on each change of the client is reported once (edge-triggered). It may already be
 * watched for its first bytes.
 */
static int
watch_edges(struct connection *c, struct loop *loop, int fd)
{
        if (!c->client.loop)
                return loop_watch_add(loop, &c->client, fd, EDGES, client_event);
        return loop_watch_change(&c->client, EDGES);
}

void
connection_dial(struct connection *c)
{
        struct loop *loop = c->wall->gate->loop;
        int fd = c->client.fd;

        greeting_fini(c);
        if (quota_is_closed(&c->wall->quota)) {
                connection_deny(c, c->wall->quota.reason, NULL);
                return;
        }
        if (!take_socket(c)) {
                connection_deny(c, DENIAL_TOO_MANY, NULL);
                return;
        }
        (void)connection_wait(c, LOOP_NEVER, NULL); /* a dial has its own timer */
        c->state = CONNECTION_DIALING;
        c->dial = c->wall->stand_in ? NULL : calloc(1, sizeof *c->dial);
        if ((!c->dial && !c->wall->stand_in) || watch_edges(c, loop, fd) < 0) {
                c->client.fd = fd;
                end(c, true);
                return;
        }
        if (c->wall->stand_in) {
                meet_player(c);
                return;
        }
        c->server.events = EDGES;
        c->server.ready = server_event;
        dial_start(c->dial, c->wall, c->host.text, c->port,
                   admit_reach(&c->policy->p, &c->host, c->port), &c->server, dialled, c);
}

static void
go_on_looked(struct connection *c, enum denial reason)
{
        if (reason != DENIAL_NONE) {
                tape_failed(&c->wall->tape, c->host.text, c->port, reason);
                connection_deny(c, reason, NULL);
                return;
        }
        c->state = CONNECTION_GREETING;
        c->protocol = PROTOCOL_UNKNOWN;
        if (connection_wait(c, loop_now_ms() + GATE_GREETING_MS, greeting_late) < 0) {
                end(c, true);
                return;
        }
        c->said |= EPOLLIN; /* events that arrived meanwhile */
        if (proxy_answer(c))
                note(c);
}

static void
looked(struct dial *d, enum denial reason)
{
        struct connection *c = d->data;

        c->dial = NULL;
        free(d);
        go_on_looked(c, reason);
}

void
connection_look(struct connection *c)
{
        c->state = CONNECTION_DIALING;
        (void)connection_wait(c, LOOP_NEVER, NULL);
        c->dial = c->wall->stand_in ? NULL : calloc(1, sizeof *c->dial);
        if (c->wall->stand_in)
                go_on_looked(c, stand_in_look(c->wall->stand_in, c->host.text, c->port));
        else if (!c->dial)
                end(c, true);
        else
                dial_look(c->dial, c->wall, c->host.text, c->port,
                          admit_reach(&c->policy->p, &c->host, c->port), looked, c);
}

/* -- first bytes ------------------------------------------------------------------------------- */

bool
connection_fill(struct connection *c, size_t most)
{
        struct held *h = &c->out.hold;

        while (h->len < most) {
                size_t room;
                ssize_t got;

                if (!held_make_room(&c->out))
                        return false;
                room = (h->room < most ? h->room : most) - h->len;
                got = recv(c->client.fd, h->bytes + h->len, room, MSG_DONTWAIT);
                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return errno == EAGAIN;
                turn_use(&c->wall->turn, (size_t)got / TURN_JUDGED);
                if (got == 0) {
                        c->out.has_end = true;
                        return h->len > 0;
                }
                h->len += (size_t)got;
                if ((size_t)got < room)
                        return true;
        }
        return true;
}

/* The client closed before it sent anything. A refusal by address alone is reported in any case. */
static void
end_unsaid(struct connection *c)
{
        if (c->refused != DENIAL_NONE)
                connection_tell(c, c->refused, NULL);
        end(c, true);
}

static void
first_bytes(struct connection *c, uint32_t events)
{
        if (((events & (EPOLLHUP | EPOLLERR)) != 0 && (events & EPOLLIN) == 0) ||
            !connection_fill(c, FIRST_BYTES)) {
                end_unsaid(c);
                return;
        }
        if (c->state == CONNECTION_PROXY)
                proxy_look(c);
        else
                greeting_look(c);
        if (c->state != CONNECTION_PROXY && c->state != CONNECTION_GREETING)
                return;
        if (c->out.has_end)
                end_unsaid(c); /* ended before it named a host */
        else if (c->out.hold.len >= FIRST_BYTES)
                connection_deny(c, c->refused != DENIAL_NONE ? c->refused : DENIAL_MALFORMED, NULL);
}

static void
greeting_late(struct connection *c)
{
        connection_tell(c, c->refused != DENIAL_NONE ? c->refused : DENIAL_SLOW, NULL);
        end(c, true);
}

/* -- accepting --------------------------------------------------------------------------------- */

static void
to_mapped(struct sockaddr_in6 *a)
{
        struct sockaddr_in four;

        if (a->sin6_family != AF_INET)
                return;
        memcpy(&four, a, sizeof four);
        *a = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = four.sin_port };
        a->sin6_addr.s6_addr[10] = a->sin6_addr.s6_addr[11] = 0xff;
        memcpy(a->sin6_addr.s6_addr + 12, &four.sin_addr, 4);
}

static bool
is_loopback(const struct in6_addr *a)
{
        return IN6_IS_ADDR_LOOPBACK(a) || IN6_IS_ADDR_UNSPECIFIED(a) ||
               (IN6_IS_ADDR_V4MAPPED(a) && (a->s6_addr[12] == 127 || a->s6_addr[12] == 0));
}

/* Finds the name of the address, and judges whether it may be connected to. */
static enum denial
find_destination(struct connection *c)
{
        struct wall *w = c->wall;
        uint32_t index = names_index_of(c->to.sin6_addr.s6_addr);
        const struct egress_host *host;
        int is_retired = 0, entry;

        if (is_loopback(&c->to.sin6_addr))
                return DENIAL_LOOPBACK;
        host = index >= WALL_NAME_FIRST ? names_find(w->names, index, loop_now_ms(), &is_retired)
                                        : NULL;
        if (!host && is_retired)
                c->host = *names_was(w->names, index); /* for the report */
        if (!host)
                return is_retired ? DENIAL_RETIRED : DENIAL_NO_NAME;
        c->host = *host;
        return switch_is_off(SWITCH_CONNECTION)
                       ? DENIAL_NONE
                       : admit_connection(&c->policy->p, &c->host, c->port, &entry);
}

static void
begin(struct connection *c, enum listener_kind kind)
{
        struct gate *g = c->wall->gate;
        int fd = c->client.fd;

        if (kind == LISTENER_PROXY) {
                c->state = CONNECTION_PROXY;
        } else {
                c->refused = find_destination(c);
                if (c->refused == DENIAL_NONE &&
                    !admit_needs_look(&c->policy->p, &c->host, c->port)) {
                        c->protocol = PROTOCOL_TCP;
                        connection_dial(c);
                        return;
                }
        }
        c->client.fd = -1;
        if (connection_wait(c, loop_now_ms() + GATE_GREETING_MS, greeting_late) < 0 ||
            loop_watch_add(g->loop, &c->client, fd, EPOLLIN | EPOLLET, client_event) < 0) {
                c->client.fd = fd;
                end(c, true);
                return;
        }
        /* A client that is refused for its address on a port without a greeting is reset at once.
         * On 80 and 443 the gate can give the reason. */
        if (c->refused != DENIAL_NONE && c->port != 80 && c->port != 443)
                connection_deny(c, c->refused, NULL);
}

static void
open_one(struct listener *l, int take_fd, const struct sockaddr_in6 *from)
{
        struct wall *w = l->wall;
        bool is_full = w->connection_count >= w->caps.connections && !switch_is_off(SWITCH_CAPS);
        struct connection *c = calloc(1, sizeof *c);
        socklen_t len = sizeof c->to;

        w->accepted++;
        turn_use(&w->turn, TURN_CONNECTION);
        if (!c) {
                struct loop_watch alone = { .fd = take_fd };

                close_socket(&alone, true);
                return;
        }
        c->wall = w;
        c->client.fd = take_fd;
        c->server.fd = -1;
        c->state = CONNECTION_GREETING;
        c->from = *from;
        to_mapped(&c->from);
        (void)getsockname(take_fd, (struct sockaddr *)&c->to, &len);
        to_mapped(&c->to);
        c->port = ntohs(c->to.sin6_port);
        c->policy = policy_ref(w->policy);
        c->out.wall = c->in.wall = w;
        c->next = w->connections;
        c->back = &w->connections;
        if (c->next)
                c->next->back = &c->next;
        w->connections = c;
        w->connection_count++;
        if (is_full || !take_socket(c)) {
                (void)find_destination(c); /* for the report */
                connection_tell(c, DENIAL_TOO_MANY, NULL);
                end(c, true);
                return;
        }
        begin(c, l->kind);
}

void
connection_accept(struct listener *l)
{
        while (l->fd >= 0 && !turn_is_used(&l->wall->turn)) {
                struct sockaddr_in6 from;
                int fd = accept_retry(l->fd, &from);

                if (fd < 0) {
                        listener_failed(l, -fd);
                        return;
                }
                open_one(l, fd, &from);
        }
}

/* -- a change of the list ---------------------------------------------------------------------- */

/* False: the connection ended. */
static bool
recheck(struct connection *c)
{
        struct wall *w = c->wall;
        struct policy *old = c->policy;
        bool stays;
        int entry;

        c->is_unchecked = false;
        /* judged later by the current list, not by that of its begin */
        if (c->state == CONNECTION_PROXY && c->host.text[0] == '\0') {
                c->policy = policy_ref(w->policy);
                policy_unref(old);
                return true;
        }
        if (c->state == CONNECTION_LEAVING || c->host.text[0] == '\0' || c->refused != DENIAL_NONE)
                return true;
        stays = admit_connection(&w->policy->p, &c->host, c->port, &entry) == DENIAL_NONE &&
                (c->protocol != PROTOCOL_TCP ||
                 !admit_needs_look(&w->policy->p, &c->host, c->port));
        if (!stays) {
                connection_tell(c, DENIAL_CHANGED, NULL);
                end(c, true);
                return false;
        }
        if (!c->out.judge) { /* a judge keeps the list that it began with */
                c->policy = policy_ref(w->policy);
                policy_unref(old);
        }
        if (c->dial)
                dial_hold(c->dial, false);
        return true;
}

/* Marks all connections first, so that none passes further bytes before its check. */
void
connection_recheck_all(struct wall *w)
{
        for (struct connection *c = w->connections; c; c = c->next) {
                c->is_unchecked = true;
                if (c->dial)
                        dial_hold(c->dial, true);
                note(c);
        }
}

void
connection_go_on_all(struct wall *w)
{
        for (struct connection *c = w->connections; c; c = c->next)
                note(c);
}

void
connection_drain_all(struct wall *w)
{
        for (struct connection *c = w->connections; c; c = c->next)
                drain(c);
}

/* -- its turn ---------------------------------------------------------------------------------- */

static void
go_on(struct job *j)
{
        struct connection *c = (struct connection *)((char *)j - offsetof(struct connection, job));
        uint32_t said = c->said;

        if (c->is_unchecked && !recheck(c))
                return;
        c->said = 0;
        if (c->is_late) {
                c->is_late = false;
                if (c->when_late)
                        c->when_late(c);
        }
        switch (c->state) {
        case CONNECTION_PROXY:
        case CONNECTION_GREETING:
                if (said == 0)
                        return;
                if (c->state == CONNECTION_GREETING || !denials_wait_for_box(c->wall)) {
                        first_bytes(c, said);
                        return;
                }
                c->said = said;
                note(c);
                return;
        case CONNECTION_DIALING: /* while dialling, only the client's disconnect
                                  * matters */
                if ((said & (EPOLLHUP | EPOLLERR)) != 0)
                        end(c, true);
                return;
        case CONNECTION_RELAYING:
                relay_pump(c);
                return;
        case CONNECTION_LEAVING:
                leave_drain(c);
                return;
        case CONNECTION_DEAD:
                return;
        }
}
