/*
 * gate/wall.c - one wall: its sockets, its link, its list, its caps.
 *
 * Room: gate (acting). Touches: fd, net, clock, mem.
 * Theory: a wall does not know other walls. An object that ends is closed at once, and freed after
 * the turn of the loop. So no callback accesses memory that another one has freed.
 */
#include "gate/wall.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gate/connection.h"
#include "gate/control.h"
#include "gate/name_server.h"
#include "gate/test_switches.h"

enum {
        LISTENERS_MAX = 4096,
        /* new names: programs use few, DNS tunnels many (H11) */
        NAMES_BURST = 128,
        NAMES_PER_SECOND = 8,
        LINK_BATCH = 16,
        SECOND_MS = 1000,
        REST_MS = 100
};

static void link_ready(struct loop_watch *link, uint32_t events);

struct wall *
wall_find(struct gate *g, uint32_t number)
{
        for (struct wall *w = g->walls; w; w = w->next)
                if (w->number == number)
                        return w;
        return NULL;
}

/* -- listeners --------------------------------------------------------------------------------- */

static void
listener_go_on(struct job *j)
{
        struct listener *l = (struct listener *)((char *)j - offsetof(struct listener, job));

        if (l->watch.fd < 0)
                return;
        if (l->by_edges)
                l->by_edges = loop_watch_change(&l->watch, EPOLLIN) < 0;
        switch (l->kind) {
        case LISTENER_DNS_UDP:
                name_server_datagrams(l);
                break;
        case LISTENER_DNS_TCP:
                name_server_accept(l);
                break;
        case LISTENER_TCP:
        case LISTENER_PROXY:
                connection_accept(l);
                break;
        }
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

static int
start_listening(struct wall *w, struct listener *l)
{
        return l->watch.fd >= 0
                       ? 0
                       : loop_watch_add(w->gate->loop, &l->watch, l->fd, EPOLLIN, listener_ready);
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

/* Takes the descriptor; closes it on failure. */
static int
listener_add(struct wall *w, int take_fd, enum listener_kind kind, uint16_t port, uint32_t index)
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
                                .fd = take_fd,
                                .port = port,
                                .index = index };
        w->listeners = l;
        w->listener_count++;
        count_files(w->gate, 1);
        return w->has_begun ? start_listening(w, l) : 0;
}

static void
listener_again(struct loop_timer *t)
{
        (void)start_listening(
                ((struct listener *)((char *)t - offsetof(struct listener, again)))->wall,
                (struct listener *)((char *)t - offsetof(struct listener, again)));
}

/* The link ended without a message of the keeper, which may add the wall again. */
static void
lose(struct wall *w)
{
        const struct wire_number number = { (int32_t)w->number };

        wall_drop(w);
        control_say(w->gate, WIRE_GATE_DROPPED, &number, sizeof number);
}

void
listener_failed(struct listener *l, int sys)
{
        if (sys == EAGAIN || sys == ECONNABORTED)
                return;
        if (sys == EINTR) { /* its box made accept block: no genuine box does */
                lose(l->wall);
                return;
        }
        /* frees spare pipes, because a waiting connection needs the descriptors more */
        pipes_fini(&l->wall->gate->pipes);
        loop_watch_remove(&l->watch);
        (void)loop_timer_set(l->wall->gate->loop, &l->again, loop_now_ms() + REST_MS,
                             listener_again);
}

static void
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

/* -- the link ---------------------------------------------------------------------------------- */

bool
wall_can_tell(const struct wall *w)
{
        struct pollfd link = { .fd = w->link.fd, .events = POLLOUT };

        return w->link.fd >= 0 && poll(&link, 1, 0) == 1 && (link.revents & POLLOUT) != 0;
}

void
wall_tell_named(struct wall *w, uint32_t index, const char *host, bool is_retired)
{
        struct wire_wall_named m = { .index = index, .is_retired = is_retired };

        (void)snprintf(m.host, sizeof m.host, "%s", host);
        if (w->link.fd >= 0)
                (void)wire_send(w->link.fd, WIRE_WALL_NAMED, &m, sizeof m, NULL, 0);
}

/* Restores a name that an earlier gate issued. */
static int
hear_named(struct wall *w, const void *body, size_t len)
{
        struct wire_wall_named m;
        struct egress_host host;

        if (len != sizeof m || w->has_begun)
                return -EPROTO;
        memcpy(&m, body, sizeof m);
        m.host[sizeof m.host - 1] = '\0';
        if (!egress_host_read(m.host, host.text) || m.index < WALL_NAME_FIRST ||
            m.index > WALL_INDEX_MAX)
                return -EPROTO;
        if (names_restore(w->names, m.index, &host, m.is_retired != 0, loop_now_ms()) == 0)
                return 0;
        /* Beyond a cap that was lowered: the name is no longer answered, and its index stays
         * reserved. */
        return names_restore(w->names, m.index, &host, 1, loop_now_ms()) < 0 ? -EPROTO : 0;
}

static int
hear_begin(struct wall *w, size_t len)
{
        if (len != 0 || w->has_begun)
                return -EPROTO;
        w->has_begun = true;
        for (struct listener *l = w->listeners; l; l = l->next)
                if (start_listening(w, l) < 0)
                        return -ENOMEM;
        return 0;
}

static int
hear_listened(struct wall *w, const void *body, size_t len, struct wire_message *m, bool has_fds)
{
        struct wire_wall_listened answer;
        uint32_t index;
        uint16_t port;
        int result = 0;

        if (len != sizeof answer)
                return -EPROTO;
        memcpy(&answer, body, sizeof answer);
        if (!has_fds)
                answer.sys = EMFILE;
        if (answer.sys == 0 ? m->fd_count != 1 && m->fd_count != 2 : m->fd_count != 0)
                return -EPROTO;
        if (!name_server_listened(w, answer.request, &index, &port, answer.sys))
                return 0; /* no question waits; the message closes its
                           * descriptors */
        /* of a routed wall: for all names, not only the one that asked first */
        if (m->fd_count == 1)
                index = 0;
        for (size_t i = 0;
             i < m->fd_count && result == 0 && (index != 0 || !wall_has_listener(w, 0, port));
             i++) {
                result = listener_add(w, m->fds[i], LISTENER_TCP, port, index);
                m->fds[i] = -1;
        }
        name_server_go_on(w);
        return result == -ENOMEM ? 0 : result;
}

static int
hear(struct wall *w, struct wire_message *m, const void *body, bool has_fds)
{
        switch (m->kind) {
        case WIRE_WALL_NAMED:
                return hear_named(w, body, m->len);
        case WIRE_WALL_COUNTED:
                return counted_hear(w, body, m->len);
        case WIRE_WALL_BEGIN:
                return hear_begin(w, m->len);
        case WIRE_WALL_LISTENED:
                return hear_listened(w, body, m->len, m, has_fds);
        default:
                return -EPROTO;
        }
}

static void
link_ready(struct loop_watch *link, uint32_t events)
{
        struct wall *w = (struct wall *)((char *)link - offsetof(struct wall, link));
        _Alignas(8) char body[1024];
        struct wire_message m;

        if ((events & EPOLLOUT) != 0)
                denials_link_ready(w);
        for (int i = 0; i < LINK_BATCH && !w->is_dead; i++) {
                int result = wire_receive(link->fd, 0, &m, body, sizeof body);

                if (result == -EAGAIN)
                        return;
                if (result == 1 || result == -EMFILE)
                        result = hear(w, &m, body, result == 1) < 0 ? -EPROTO : 1;
                wire_message_close(&m);
                if (result <= 0)
                        lose(w);
        }
}

/* -- begin, change, end ------------------------------------------------------------------------ */

static struct wire_gate_caps
caps_of(const struct wire_gate_caps *asked)
{
        struct wire_gate_caps c = *asked;

        if (c.connections == 0 || c.connections > GATE_WALL_CONNECTIONS)
                c.connections = GATE_WALL_CONNECTIONS;
        if (c.names == 0 || c.names > NAMES_MAX)
                c.names = c.names == 0 ? GATE_WALL_NAMES : NAMES_MAX;
        return c;
}

static int
add_sockets(struct wall *w, const struct wall_listener *listeners, struct wire_message *m)
{
        static const struct {
                enum listener_kind kind;
                uint16_t port;
        } fixed[WALL_FIXED] = {
                [WALL_DNS_UDP] = { LISTENER_DNS_UDP, 53 },
                [WALL_DNS_TCP] = { LISTENER_DNS_TCP, 53 },
                [WALL_HTTP] = { LISTENER_TCP, 80 },
                [WALL_HTTPS] = { LISTENER_TCP, 443 },
                [WALL_PROXY] = { LISTENER_PROXY, WALL_PROXY_PORT },
        };
        int result = 0;

        w->link.fd = -1;
        w->diag = m->fds[1 + WALL_DIAG];
        m->fds[1 + WALL_DIAG] = -1;
        for (size_t i = WALL_DNS_UDP; i + 1 < m->fd_count && result == 0; i++) {
                int fd = m->fds[1 + i];

                m->fds[1 + i] = -1;
                if (i < WALL_FIXED)
                        result = listener_add(w, fd, fixed[i].kind, fixed[i].port, 0);
                else
                        result = listener_add(w, fd, LISTENER_TCP, listeners[i - WALL_FIXED].port,
                                              listeners[i - WALL_FIXED].index);
        }
        return result;
}

static void
close_all(struct wall *w)
{
        int link = w->link.fd;

        denials_end(w);
        counted_end(w);
        loop_watch_remove(&w->link);
        if (link >= 0)
                (void)close(link);
        if (w->diag >= 0)
                (void)close(w->diag);
        w->diag = -1;
        for (struct listener *l = w->listeners; l; l = l->next)
                listener_end(l);
}

static void
leave_all(struct wall *w)
{
        resolver_leave(w->gate->resolver, &w->asked);
        fair_share_leave(&w->gate->sockets, &w->sockets);
        fair_share_leave(&w->gate->held, &w->held);
        turn_end(&w->turn);
}

void
wall_free(struct wall *w)
{
        if (!w)
                return;
        while (w->listeners) {
                struct listener *l = w->listeners;

                w->listeners = l->next;
                free(l);
        }
        names_free(w->names);
        policy_unref(w->policy);
        free(w);
}

int
wall_add(struct gate *g, const struct wire_gate_policy *head, struct policy *take_policy,
         const struct wall_listener *listeners, struct wire_message *take_fds)
{
        struct wall *w = calloc(1, sizeof *w);
        int result, link = take_fds->fds[0];

        if (!w) {
                policy_unref(take_policy);
                return -ENOMEM;
        }
        w->gate = g;
        w->number = head->wall;
        turn_begin(&g->turns, &w->turn);
        denials_begin(w);
        w->counted.settle.due_ms = LOOP_NEVER;
        w->policy = take_policy;
        w->caps = caps_of(&head->caps);
        w->names = names_new(w->caps.names);
        resolver_join(g->resolver, &w->asked);
        fair_share_join(&g->sockets, &w->sockets);
        fair_share_join(&g->held, &w->held);
        w->fresh = (struct bucket){ NAMES_BURST, loop_now_ms() };
        memcpy(w->id, head->id, sizeof w->id - 1);
        result = add_sockets(w, listeners, take_fds);
        if (result == 0 && !w->names)
                result = -ENOMEM;
        if (result == 0 && fcntl(link, F_SETFL, O_NONBLOCK) < 0)
                result = -errno; /* a box that does not read must not block others */
        if (result == 0)
                result = loop_watch_add(g->loop, &w->link, link, EPOLLIN, link_ready);
        if (result < 0) {
                close_all(w);
                leave_all(w);
                wall_free(w);
                return result;
        }
        take_fds->fds[0] = -1;
        w->next = g->walls;
        g->walls = w;
        return 0;
}

void
wall_set(struct wall *w, const struct wire_gate_policy *head, struct policy *take_policy)
{
        policy_unref(w->policy);
        w->policy = take_policy;
        w->caps = caps_of(&head->caps);
        if (!switch_is_off(SWITCH_CHANGE))
                connection_recheck_all(w);
}

/* Ends some connections per turn, so that other walls get their turns. */
static void
end_some(struct job *j)
{
        struct wall *w = (struct wall *)((char *)j - offsetof(struct wall, last));

        while (w->connections && !turn_is_used(&w->turn)) {
                connection_reset(w->connections);
                turn_use(&w->turn, TURN_CONNECTION);
        }
        if (w->connections) {
                turn_want(&w->turn, &w->last, end_some);
                return;
        }
        leave_all(w);
        w->next = w->gate->dead_walls;
        w->gate->dead_walls = w;
}

void
wall_drop(struct wall *w)
{
        struct wall **at = &w->gate->walls;

        if (w->is_dead)
                return;
        w->is_dead = true;
        while (*at != w)
                at = &(*at)->next;
        *at = w->next;
        name_server_end(w);
        close_all(w);
        turn_close(&w->turn, &w->last, end_some);
}

void
gate_reap(struct gate *g)
{
        connection_reap(g);
        while (g->dead_walls) {
                struct wall *w = g->dead_walls;

                g->dead_walls = w->next;
                wall_free(w);
        }
}

/* -- what may pass ----------------------------------------------------------------------------- */

/* Fills a bucket by the elapsed time, at most one second's amount. */
static void
refill(struct bucket *b, uint64_t per_second, uint64_t most)
{
        uint64_t now = loop_now_ms(), passed = now - b->at_ms;

        if (passed == 0)
                return;
        if (passed > SECOND_MS * (most / per_second + 1))
                passed = SECOND_MS * (most / per_second + 1);
        b->tokens += per_second * passed / SECOND_MS;
        if (b->tokens > most)
                b->tokens = most;
        b->at_ms = now;
}

size_t
wall_allowance(struct wall *w, bool is_out, size_t want)
{
        struct bucket *b = is_out ? &w->out : &w->in;

        if (w->caps.bytes_per_second == 0)
                return want;
        refill(b, w->caps.bytes_per_second, w->caps.bytes_per_second / 4 + 1500);
        return b->tokens < want ? (size_t)b->tokens : want;
}

bool
wall_count_bytes(struct wall *w, bool is_out, size_t len)
{
        struct bucket *b = is_out ? &w->out : &w->in;
        uint64_t *count = is_out ? &w->bytes_out : &w->bytes_in,
                 cap = is_out ? w->caps.bytes_out : w->caps.bytes_in;

        *count += len;
        counted_more(w);
        turn_use(&w->turn, len / TURN_BYTES);
        b->tokens -= len < b->tokens ? len : b->tokens;
        return cap == 0 || *count <= cap || switch_is_off(SWITCH_CAPS);
}

static bool
may_name(struct wall *w)
{
        if (switch_is_off(SWITCH_CAPS))
                return true;
        /* whole seconds, because the tokens of a shorter time round down to 0 */
        if (loop_now_ms() - w->fresh.at_ms >= SECOND_MS)
                refill(&w->fresh, NAMES_PER_SECOND, NAMES_BURST);
        if (w->fresh.tokens == 0)
                return false;
        w->fresh.tokens--;
        return true;
}

uint32_t
wall_give_name(struct wall *w, const struct egress_host *host)
{
        uint32_t retired = 0, index = 0;
        int is_new = 0;

        if (names_has(w->names, host) || (wall_can_tell(w) && may_name(w)))
                index = names_give(w->names, host, loop_now_ms(), &is_new, &retired);
        if (retired != 0)
                wall_tell_named(w, retired, names_was(w->names, retired)->text, true);
        if (index != 0 && is_new)
                wall_tell_named(w, index, host->text, false);
        return index;
}
