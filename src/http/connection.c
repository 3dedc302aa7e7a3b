/*
 * http/connection.c - one connection: what it sends, what it waits for, and its end.
 *
 * Room: http (joining). Touches: fd, mem, clock.
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

#include "loop/deferred.h"

#define OF(t, member) \
        ((struct connection *)(void *)((char *)(t)-offsetof(struct connection, member)))

/* -- the request ------------------------------------------------------------------------------- */

void
connection_drop_body(struct connection *c)
{
        c->door->body_bytes -= c->whole.len + c->kept_body;
        crowd_hold_nothing(&c->member, CROWD_BODIES);
        c->kept_body = 0;
        buffer_fini(&c->whole);
}

void
connection_forget(struct connection *c)
{
        connection_drop_body(c);
        crowd_hold_nothing(&c->member, CROWD_ANSWERS);
        c->kept = 0;
        free(c->head_bytes);
        free(c->delayed);
        c->head_bytes = NULL;
        c->delayed = NULL;
        c->added_len = 0;
        c->is_held = c->is_body_paused = c->is_too_large = c->is_done = c->is_chunked =
                c->has_length = 0;
        c->x = (struct exchange){ .loop = c->door->loop, .link = c->door->link };
}

/* -- ends -------------------------------------------------------------------------------------- */

void
connection_bury(struct connection *c)
{
        loop_timer_remove(&c->kick);
        loop_timer_remove(&c->delay);
        connection_forget(c);
        deferred_free(c);
}

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
                connection_bury(c);
}

static void
time_out(struct loop_timer *t)
{
        struct connection *c = OF(t, deadline);

        c->steps->late(c);
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
        if ((events & EPOLLRDHUP) != 0 &&
            (c->in.len < CONNECTION_IN_MAX || c->state == CONNECTION_LINGER))
                events |= EPOLLIN;
        (void)loop_watch_change(&c->watch, events);
}

static void
kicked(struct loop_timer *t)
{
        struct connection *c = OF(t, kick);

        c->steps->go_on(c);
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
                connection_deadline(c, CONNECTION_STALL_MS);
        connection_watch(c);
}

void
connection_flush(struct connection *c)
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
                connection_deadline(c, c->out.len > 0 ? CONNECTION_STALL_MS : 0);
        connection_watch(c);
        if (before > 0 && c->out.len == 0 && c->is_held && !c->is_done && c->x.hooks &&
            c->x.hooks->drained)
                c->x.hooks->drained(&c->x);
        if (c->state == CONNECTION_FLUSH)
                c->steps->go_on(c);
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
                connection_bury(c);
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
