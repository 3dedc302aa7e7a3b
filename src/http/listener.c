/*
 * http/listener.c - accepts connections; refuses those for which there is no place.
 *
 * Room: http (joining). Touches: fd.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/door.h"
#include "http/exchange.h"

enum { TURN_MAX = 32, REST_MS = 100 };

static void ready(struct loop_watch *w, uint32_t events);

static void
begin_again(struct loop_timer *t)
{
        struct listener *l =
                (struct listener *)(void *)((char *)t - offsetof(struct listener, again));

        if (loop_watch_add(l->door->loop, &l->watch, l->fd, EPOLLIN, ready) < 0)
                (void)loop_timer_set(l->door->loop, &l->again, loop_now_ms() + REST_MS,
                                     begin_again);
}

static void
rest(struct listener *l)
{
        loop_watch_remove(&l->watch);
        (void)loop_timer_set(l->door->loop, &l->again, loop_now_ms() + REST_MS, begin_again);
}

void
listener_turn_away(int take_fd, const struct error *e)
{
        struct json_writer w;
        char head[256];
        int len;

        exchange_error_text(&w, e);
        len = snprintf(
                head, sizeof head,
                "HTTP/1.1 %d Refused\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                "Retry-After: %d\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
                error_http_status(e->code), w.len, CROWD_RETRY_S);
        if (len > 0 && (size_t)len < sizeof head &&
            send(take_fd, head, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE) == len)
                (void)send(take_fd, w.text, w.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        json_fini(&w);
        (void)close(take_fd);
}

static void
ready(struct loop_watch *w, uint32_t events)
{
        struct listener *l = (struct listener *)(void *)w;

        for (int i = 0; i < TURN_MAX; i++) {
                int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

                if (fd < 0) {
                        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
                            errno == ENOBUFS)
                                rest(l);
                        if (errno != EINTR && errno != ECONNABORTED)
                                return;
                } else {
                        l->accepted(l, fd);
                }
        }
}

int
listener_open(struct listener *l, struct door *d, int fd,
              void (*accepted)(struct listener *l, int take_fd), struct error *e)
{
        int flags = fcntl(fd, F_GETFL), is_listening = 0;
        socklen_t len = sizeof is_listening;

        *l = (struct listener){ .door = d, .fd = fd, .accepted = accepted };
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &len) < 0 || !is_listening)
                return fail(e, ERROR_INVALID_ARGUMENT, "descriptor %d is no listening socket", fd);
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
            loop_watch_add(d->loop, &l->watch, fd, EPOLLIN, ready) < 0)
                return fail_sys(e, ERROR_INTERNAL, errno, "descriptor %d cannot be waited for", fd);
        return 0;
}
