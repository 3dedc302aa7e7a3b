/*
 * http/connection.c - one connection: a state machine over one descriptor.
 *
 * Room: http (joining). Touches: fd, mem, clock.
 * Theory: one exchange at a time. Pipelined requests wait in `in`, so answers are sent in order
 * (G13). Every state except WAIT has a deadline (G02). request.c implements the states HEAD and
 * BODY.
 *
 *   HEAD (-> ASK) -> BODY -> WAIT -> FLUSH -> HEAD ...
 *   a refusal, or an answer before its body was read: -> FLUSH -> LINGER -> DEAD
 */
#include "http/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "http/request.h"
#include "loop/deferred.h"

enum {
        IN_MAX = 64 * 1024, /* bytes read ahead */
        HEAD_MS = 10 * 1000,
        KEEP_MS = 75 * 1000,
        STALL_MS = 300 * 1000,
        LINGER_MS = 2 * 1000,
};

#define OF(t, member) \
        ((struct connection *)(void *)((char *)(t)-offsetof(struct connection, member)))

static void process(struct connection *c);

/* -- ends -------------------------------------------------------------------------------------- */

static void
bury(struct connection *c)
{
        loop_timer_remove(&c->kick);
        loop_timer_remove(&c->delay);
        request_forget(c);
        deferred_free(c);
}

/*
 * Closes the descriptor. It also frees the struct, unless a handler without a `gone` hook still
 * holds the exchange.
 */
void
connection_die(struct connection *c)
{
        int is_held = c->is_held && !c->is_done;

        if (c->state == CONNECTION_DEAD)
                return;
        c->state = CONNECTION_DEAD;
        loop_watch_remove(&c->watch);
        loop_timer_remove(&c->deadline);
        (void)close(c->fd);
        c->fd = -1;
        link_call_end(&c->who);
        crowd_leave(&c->member);
        bytes_fini(&c->in);
        bytes_fini(&c->out);
        if (is_held && c->x.hooks && c->x.hooks->gone) {
                c->is_done = 1;
                c->x.hooks->gone(&c->x);
                is_held = 0;
        }
        if (!is_held && !c->is_processing)
                bury(c);
}

static void
linger(struct connection *c)
{
        (void)shutdown(c->fd, SHUT_WR);
        c->state = CONNECTION_LINGER;
        crowd_wait(&c->member);
        bytes_drop(&c->in, c->in.len);
        connection_deadline(c, LINGER_MS);
        if (c->is_eof)
                connection_die(c);
        else
                connection_watch(c);
}

/* For a refusal before there is a handler: sends the error, then closes. */
void
connection_refuse(struct connection *c, const struct error *e)
{
        request_drop_body(c);
        c->is_last = 1;
        c->is_held = 0;
        c->state = CONNECTION_WAIT;
        exchange_fail(&c->x, e);
}

static void
time_out(struct loop_timer *t)
{
        struct connection *c = OF(t, deadline);
        struct error e;

        /* lint: each end of a connection has its own reason */
        if (c->state == CONNECTION_HEAD && c->in.len == 0) {
                connection_die(c);
        } else if (c->state == CONNECTION_HEAD || (c->state == CONNECTION_BODY && !c->is_held)) {
                (void)fail(&e, ERROR_REQUEST_TIMEOUT, "the request did not arrive in time");
                connection_refuse(c, &e);
        } else {
                connection_die(c);
        }
}

void
connection_deadline(struct connection *c, uint64_t ms)
{
        (void)loop_timer_set(c->door->loop, &c->deadline, ms == 0 ? LOOP_NEVER : loop_now_ms() + ms,
                             time_out);
}

void
connection_fall(struct connection *c)
{
        if (c->state != CONNECTION_DEAD)
                (void)loop_timer_set(c->door->loop, &c->deadline, 0, time_out);
}

/* -- polling ----------------------------------------------------------------------------------- */

void
connection_watch(struct connection *c)
{
        uint32_t events = c->out.len > 0 ? EPOLLOUT : 0;

        if (c->state == CONNECTION_DEAD)
                return;
        /* While a body is paused, the end is not polled: unread bytes may come before it. */
        if (!c->is_eof && !(c->state == CONNECTION_BODY && c->is_body_paused))
                events |= EPOLLRDHUP;
        if ((events & EPOLLRDHUP) != 0 && (c->in.len < IN_MAX || c->state == CONNECTION_LINGER))
                events |= EPOLLIN;
        (void)loop_watch_change(&c->watch, events);
}

static void
kicked(struct loop_timer *t)
{
        process(OF(t, kick));
}

void
connection_kick(struct connection *c)
{
        if (!c->is_processing)
                (void)loop_timer_set(c->door->loop, &c->kick, 0, kicked);
}

/* -- out --------------------------------------------------------------------------------------- */

static void
keep(struct connection *c, const void *bytes, size_t len)
{
        if (bytes_put(&c->out, bytes, len) < 0)
                connection_fall(c);
        else
                crowd_owe(&c->member, len);
}

void
connection_send(struct connection *c, const void *const *parts, const size_t *lens, size_t count)
{
        struct iovec vec[4];
        struct msghdr msg = { .msg_iov = vec, .msg_iovlen = (__typeof__(msg.msg_iovlen))count };
        size_t sent = 0;
        ssize_t got;

        if (c->state == CONNECTION_DEAD)
                return;
        for (size_t i = 0; i < count; i++)
                vec[i] = (struct iovec){ (void *)(uintptr_t)parts[i], lens[i] };
        if (c->out.len == 0) {
                got = sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
                if (got > 0)
                        sent = (size_t)got;
                else if (got < 0 && errno != EAGAIN && errno != EINTR)
                        return; /* the read side reports that the peer has closed */
        }
        for (size_t i = 0; i < count && c->state != CONNECTION_DEAD; i++) {
                size_t skip = sent < lens[i] ? sent : lens[i];

                sent -= skip;
                if (skip < lens[i])
                        keep(c, (const char *)parts[i] + skip, lens[i] - skip);
        }
        if (c->out.len > 0 && c->state == CONNECTION_WAIT && c->deadline.index == 0)
                connection_deadline(c, STALL_MS);
        connection_watch(c);
}

static void
flush(struct connection *c)
{
        size_t before = c->out.len;

        while (c->out.len > 0) {
                ssize_t sent = send(c->fd, c->out.at + c->out.first, c->out.len,
                                    MSG_NOSIGNAL | MSG_DONTWAIT);

                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent < 0 && errno != EAGAIN) {
                        connection_die(c);
                        return;
                }
                if (sent < 0)
                        break;
                bytes_drop(&c->out, (size_t)sent);
                crowd_release(&c->member, CROWD_ANSWERS, (size_t)sent);
        }
        if (c->state == CONNECTION_WAIT || c->state == CONNECTION_FLUSH)
                connection_deadline(c, c->out.len > 0 ? STALL_MS : 0);
        connection_watch(c);
        if (before > 0 && c->out.len == 0 && c->is_held && !c->is_done && c->x.hooks &&
            c->x.hooks->drained)
                c->x.hooks->drained(&c->x);
        if (c->state == CONNECTION_FLUSH)
                process(c);
}

/*
 * The handler has ended the exchange. Returns 1 if the connection is dead too: the struct is freed
 * now, or after the current step.
 */
static int
let_handler_go(struct connection *c)
{
        c->is_done = 1;
        c->x.hooks = NULL;
        if (c->state != CONNECTION_DEAD)
                return 0;
        if (!c->is_processing)
                bury(c);
        return 1;
}

void
connection_finished(struct connection *c)
{
        if (!let_handler_go(c))
                connection_kick(c);
}

void
connection_cut(struct connection *c)
{
        c->is_last = 1;
        if (!let_handler_go(c))
                connection_die(c);
}

/* -- state changes ----------------------------------------------------------------------------- */

static int
on_flush(struct connection *c)
{
        if (c->out.len > 0) {
                connection_deadline(c, STALL_MS);
                return 0;
        }
        if (c->is_last) {
                linger(c);
                return 0;
        }
        request_forget(c);
        c->state = CONNECTION_HEAD;
        crowd_wait(&c->member);
        connection_deadline(c, c->in.len > 0 ? HEAD_MS : KEEP_MS);
        return 1;
}

static int
step(struct connection *c)
{
        switch (c->state) {
        case CONNECTION_HEAD:
                return request_head(c);
        case CONNECTION_BODY:
                return request_body(c);
        case CONNECTION_WAIT:
                if (c->is_done)
                        c->state = CONNECTION_FLUSH;
                return c->is_done;
        case CONNECTION_FLUSH:
                return on_flush(c);
        default:
                return 0;
        }
}

static void
process(struct connection *c)
{
        int had = c->state == CONNECTION_HEAD && c->in.len > 0;

        if (c->is_processing || c->state == CONNECTION_DEAD)
                return;
        c->is_processing = 1;
        while (step(c))
                ;
        c->is_processing = 0;
        if (c->state == CONNECTION_DEAD) {
                if (!c->is_held || c->is_done)
                        bury(c);
                return;
        }
        /* The first byte of a head starts its deadline; later bytes do not extend it. */
        if (c->state == CONNECTION_HEAD && had && c->in.len > 0 &&
            c->deadline.due_ms > loop_now_ms() + HEAD_MS)
                connection_deadline(c, HEAD_MS);
        if (c->is_eof &&
            (c->state == CONNECTION_HEAD || (c->state == CONNECTION_BODY && !c->body.is_over)))
                /* lint: each end of a connection has its own reason */
                connection_die(c);
        else if (c->is_eof && c->state == CONNECTION_WAIT && !c->is_done && c->is_held &&
                 c->x.hooks && c->x.hooks->gone)
                connection_die(c);
        else
                connection_watch(c);
}

static void
read_some(struct connection *c)
{
        static char thrown[65536];
        char *room = c->state == CONNECTION_LINGER ? thrown : bytes_room(&c->in, IN_MAX);
        ssize_t got;

        if (!room) {
                connection_die(c);
                return;
        }
        got = recv(c->fd, room, c->state == CONNECTION_LINGER ? sizeof thrown : IN_MAX,
                   MSG_DONTWAIT);
        if (got > 0 && c->state != CONNECTION_LINGER)
                c->in.len += (size_t)got;
        else if (got == 0)
                c->is_eof = 1;
        else if (got < 0 && errno != EAGAIN && errno != EINTR)
                connection_die(c);
        if (c->state != CONNECTION_DEAD && c->in.len == 0)
                bytes_drop(&c->in, 0);
}

static void
ready(struct loop_watch *w, uint32_t events)
{
        struct connection *c = OF(w, watch);

        int may_read =
                c->state == CONNECTION_HEAD || (c->state == CONNECTION_BODY && !c->is_body_paused);

        if ((events & (EPOLLERR | EPOLLHUP)) != 0 && !may_read) {
                connection_die(c);
                return;
        }
        if ((events & EPOLLOUT) != 0)
                flush(c);
        if (c->state == CONNECTION_DEAD)
                return;
        if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0)
                read_some(c);
        else if ((events & EPOLLRDHUP) != 0)
                c->is_eof = 1;
        if (c->state == CONNECTION_DEAD)
                return;
        if (c->state == CONNECTION_LINGER) {
                if (c->is_eof)
                        connection_die(c);
                return;
        }
        process(c);
}

static void
let_go(struct crowd_member *m)
{
        connection_die(OF(m, member));
}

/*
 * The kernel names the peer of a unix socket. A TCP client is unknown until it sends a credential.
 */
static int
join(struct connection *c, struct error *e)
{
        char owner[REQUEST_OWNER_LEN];

        if (c->is_tcp)
                return crowd_join(&c->listener->crowd, &c->member, NULL, let_go, e);
        request_owner_of_uid(c->uid, owner);
        return crowd_join(&c->listener->crowd, &c->member, owner, let_go, e);
}

void
connection_open(struct listener *l, int take_fd, int is_tcp)
{
        struct door *d = l->door;
        struct connection *c = deferred_make(d->loop, struct connection);
        struct ucred peer = { .uid = (uid_t)-1 };
        socklen_t len = sizeof peer;
        struct error e;
        int yes = 1;

        if (!c || (!is_tcp && getsockopt(take_fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)) {
                deferred_free(c);
                (void)close(take_fd);
                return;
        }
        if (is_tcp)
                (void)setsockopt(take_fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        c->door = d;
        c->listener = l;
        c->fd = take_fd;
        c->is_tcp = is_tcp;
        c->uid = peer.uid;
        c->state = CONNECTION_HEAD;
        request_forget(c);
        if (join(c, &e) < 0) {
                deferred_free(c);
                listener_turn_away(take_fd, &e);
                return;
        }
        if (loop_watch_add(d->loop, &c->watch, take_fd, EPOLLIN | EPOLLRDHUP, ready) < 0) {
                connection_die(c);
                return;
        }
        connection_deadline(c, HEAD_MS);
}
