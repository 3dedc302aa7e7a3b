/*
 * gate/listener.c - the listening sockets of a wall.
 *
 * Room: gate (acting). Touches: fd, net.
 */
#include "gate/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gate/gate.h"
#include "wire/message.h"

enum { LISTENERS_MAX = 4096, REST_MS = 100 };

static void
listener_go_on(struct job *j)
{
        struct listener *l = (struct listener *)((char *)j - offsetof(struct listener, job));

        if (l->watch.fd < 0)
                return;
        if (l->by_edges)
                l->by_edges = loop_watch_change(&l->watch, EPOLLIN) < 0;
        l->accept(l);
}

static void
listener_ready(struct loop_watch *watch, uint32_t events)
{
        struct listener *l = (struct listener *)((char *)watch - offsetof(struct listener, watch));

        (void)events;
        turn_want(&l->wall->turn, &l->job, listener_go_on);
        /* a waiting connection must not wake the loop again before the wall's turn */
        if (l->wall->turn.is_paused && !l->by_edges)
                l->by_edges = loop_watch_change(&l->watch, EPOLLIN | EPOLLET) == 0;
}

int
listener_begin(struct listener *l)
{
        return l->watch.fd >= 0 ? 0
                                : loop_watch_add(l->wall->gate->loop, &l->watch, l->fd, EPOLLIN,
                                                 listener_ready);
}

/*
 * Options that a connection inherits from its listener, without a call for each: small pieces are
 * sent at once.
 */
static void
set_up_connections(int fd)
{
        int one = 1;

        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

/*
 * True: the descriptor is a socket that a box may pass: of the internet, and listening in the
 * expected place. A blocking one would block every other wall.
 */
static bool
is_fit(int fd, enum listener_kind kind)
{
        int domain = 0, type = 0, accepts = 0;
        socklen_t len = sizeof domain;

        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 ||
            (domain != AF_INET && domain != AF_INET6))
                return false;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
            getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &len) < 0)
                return false;
        return (kind == LISTENER_DNS_UDP ? type == SOCK_DGRAM
                                         : type == SOCK_STREAM && accepts != 0) &&
               fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

/* Descriptors of the walls beyond the spare ones reduce those for connections. */
static void
count_files(struct gate *g, int more)
{
        size_t beyond;

        g->wall_files += (size_t)more;
        beyond = g->wall_files > GATE_FILES_SPARE ? g->wall_files - GATE_FILES_SPARE : 0;
        g->sockets.max = g->sockets_most > beyond ? g->sockets_most - beyond : 0;
}

int
listener_add(struct wall *w, int take_fd, enum listener_kind kind, uint16_t port, uint32_t index,
             void (*accept)(struct listener *l))
{
        struct listener *l = w->listener_count < LISTENERS_MAX && is_fit(take_fd, kind)
                                     ? calloc(1, sizeof *l)
                                     : NULL;

        if (!l) {
                (void)close(take_fd);
                return -ENOMEM;
        }
        if (kind == LISTENER_TCP || kind == LISTENER_PROXY)
                set_up_connections(take_fd);
        *l = (struct listener){ .watch = { .fd = -1 },
                                .wall = w,
                                .next = w->listeners,
                                .kind = kind,
                                .accept = accept,
                                .fd = take_fd,
                                .port = port,
                                .index = index };
        w->listeners = l;
        w->listener_count++;
        count_files(w->gate, 1);
        return w->has_begun ? listener_begin(l) : 0;
}

static void
listener_again(struct loop_timer *t)
{
        (void)listener_begin((struct listener *)((char *)t - offsetof(struct listener, again)));
}

void
listener_failed(struct listener *l, int sys)
{
        if (sys == EAGAIN || sys == ECONNABORTED)
                return;
        if (sys == EINTR) { /* its box made accept block: no genuine box does */
                l->wall->gate->lost(l->wall);
                return;
        }
        /* frees spare pipes, because a waiting connection needs the descriptors more */
        pipes_fini(&l->wall->gate->pipes);
        loop_watch_remove(&l->watch);
        (void)loop_timer_set(l->wall->gate->loop, &l->again, loop_now_ms() + REST_MS,
                             listener_again);
}

void
listener_end(struct listener *l)
{
        job_end(&l->job);
        loop_watch_remove(&l->watch);
        loop_timer_remove(&l->again);
        if (l->fd < 0)
                return;
        (void)close(l->fd);
        l->fd = -1;
        count_files(l->wall->gate, -1);
}

void
listener_free_all(struct wall *w)
{
        while (w->listeners) {
                struct listener *l = w->listeners;

                w->listeners = l->next;
                free(l);
        }
}

bool
wall_has_listener(const struct wall *w, uint32_t index, uint16_t port)
{
        for (const struct listener *l = w->listeners; l; l = l->next)
                if (l->kind == LISTENER_TCP && l->port == port &&
                    (l->index == 0 || l->index == index))
                        return true;
        return false;
}

bool
wall_retire_listener(struct wall *w)
{
        uint64_t now = loop_now_ms(), longest = NAMES_IDLE_MS - 1;
        uint32_t index = 0;

        for (const struct listener *l = w->listeners; l; l = l->next) {
                uint64_t idle = l->index != 0 ? names_idle_ms(w->names, l->index, now) : 0;

                if (idle > longest) {
                        longest = idle;
                        index = l->index;
                }
        }
        if (index == 0)
                return false;
        names_retire(w->names, index, now);
        wall_tell_named(w, index, names_was(w->names, index)->text, true);
        for (struct listener **at = &w->listeners; *at;) {
                struct listener *l = *at;

                if (l->index != index) {
                        at = &l->next;
                        continue;
                }
                *at = l->next;
                w->listener_count--;
                listener_end(l);
                free(l);
        }
        return true;
}

uint32_t
wall_ask_listener(struct wall *w, uint32_t index, uint16_t port)
{
        struct wire_wall_listen ask = { .request = ++w->last_request,
                                        .index = index,
                                        .port = port };

        if (ask.request == 0)
                ask.request = ++w->last_request;
        return w->link.fd >= 0 && wire_send(w->link.fd, WIRE_WALL_LISTEN, &ask, sizeof ask, NULL,
                                            0) == 0
                       ? ask.request
                       : 0;
}
