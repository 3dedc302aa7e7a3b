/*
 * http/serve.c - serves one connection: a state machine over one descriptor.
 *
 * Room: http (joining). Touches: fd, mem, clock.
 * Theory: one exchange at a time. Pipelined requests wait in `in`, so answers are sent in order
 * (G13). Every state except WAIT has a deadline (G02). request.c implements the states HEAD and
 * BODY.
 *
 *   HEAD (-> ASK) -> BODY -> WAIT -> FLUSH -> HEAD ...
 *   a refusal, or an answer before its body was read: -> FLUSH -> LINGER -> DEAD
 */
#include "http/serve.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/connection.h"
#include "http/request.h"
#include "loop/deferred.h"

enum {
        HEAD_MS = 10 * 1000,
        KEEP_MS = 75 * 1000,
        LINGER_MS = 2 * 1000,
};

#define OF(t, member) \
        ((struct connection *)(void *)((char *)(t)-offsetof(struct connection, member)))

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

static int
on_flush(struct connection *c)
{
        if (c->out.len > 0) {
                connection_deadline(c, CONNECTION_STALL_MS);
                return 0;
        }
        if (c->is_last) {
                linger(c);
                return 0;
        }
        connection_forget(c);
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
                        connection_bury(c);
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
time_out(struct connection *c)
{
        struct error e;

        /* lint: each end of a connection has its own reason */
        if (c->state == CONNECTION_HEAD && c->in.len == 0) {
                connection_die(c);
        } else if (c->state == CONNECTION_HEAD || (c->state == CONNECTION_BODY && !c->is_held)) {
                (void)fail(&e, ERROR_REQUEST_TIMEOUT, "the request did not arrive in time");
                request_deny(c, &e);
        } else {
                connection_die(c);
        }
}

static void
read_some(struct connection *c)
{
        static char thrown[65536];
        char *room = c->state == CONNECTION_LINGER ? thrown : bytes_room(&c->in, CONNECTION_IN_MAX);
        ssize_t got;

        if (!room) {
                connection_die(c);
                return;
        }
        got = recv(c->fd, room, c->state == CONNECTION_LINGER ? sizeof thrown : CONNECTION_IN_MAX,
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
                connection_flush(c);
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

static const struct connection_steps steps = { .go_on = process, .late = time_out };

void
serve_connection(struct listener *l, int take_fd, int is_tcp)
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
        c->steps = &steps;
        c->door = d;
        c->listener = l;
        c->fd = take_fd;
        c->is_tcp = is_tcp;
        c->uid = peer.uid;
        c->state = CONNECTION_HEAD;
        connection_forget(c);
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
