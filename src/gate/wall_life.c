/*
 * gate/wall_life.c - a wall from its begin to its end: its link, its list, its sockets.
 *
 * Room: gate (acting). Touches: fd, net, clock, mem.
 * Theory: a wall does not know other walls. An object that ends is closed at once, and freed after
 * the turn of the loop. So no callback accesses memory that another one has freed.
 */
#include "gate/wall_life.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/scoped.h"
#include "gate/connection.h"
#include "gate/denials.h"
#include "gate/listener.h"
#include "gate/name_server.h"
#include "gate/stand_in.h"
#include "gate/test_switches.h"

enum { LINK_BATCH = 16 };

/* -- the link ---------------------------------------------------------------------------------- */

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
                if (listener_begin(l) < 0)
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
                result = listener_add(w, m->fds[i], LISTENER_TCP, port, index, connection_accept);
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
                return w->has_begun ? -EPROTO : counted_hear(&w->counted, body, m->len);
        case WIRE_WALL_ALLOWED:
                return w->has_begun ? -EPROTO : allowed_hear(&w->allowed, m->len);
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
                        w->gate->lost(w);
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
                void (*accept)(struct listener *l);
        } fixed[WALL_FIXED] = {
                [WALL_DNS_UDP] = { LISTENER_DNS_UDP, 53, name_server_datagrams },
                [WALL_DNS_TCP] = { LISTENER_DNS_TCP, 53, name_server_accept },
                [WALL_HTTP] = { LISTENER_TCP, 80, connection_accept },
                [WALL_HTTPS] = { LISTENER_TCP, 443, connection_accept },
                [WALL_PROXY] = { LISTENER_PROXY, WALL_PROXY_PORT, connection_accept },
        };
        int result = 0;

        w->link.fd = -1;
        w->diag = m->fds[1 + WALL_DIAG];
        m->fds[1 + WALL_DIAG] = -1;
        for (size_t i = WALL_DNS_UDP; i + 1 < m->fd_count && result == 0; i++) {
                int fd = m->fds[1 + i];

                m->fds[1 + i] = -1;
                if (i < WALL_FIXED)
                        result = listener_add(w, fd, fixed[i].kind, fixed[i].port, 0,
                                              fixed[i].accept);
                else
                        result = listener_add(w, fd, LISTENER_TCP, listeners[i - WALL_FIXED].port,
                                              listeners[i - WALL_FIXED].index, connection_accept);
        }
        return result;
}

static void
close_all(struct wall *w)
{
        int link = w->link.fd;

        if (w->tape.fd >= 0)
                connection_drain_all(w);
        denials_end(w);
        counted_end(&w->counted);
        quota_end(&w->quota);
        for (struct connection *c = w->connections; c; c = connection_report(c))
                continue;
        allowed_end(&w->allowed);
        tape_end(&w->tape);
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

static void
wall_free(struct wall *w)
{
        listener_free_all(w);
        names_free(w->names);
        policy_unref(w->policy);
        stand_in_free(w->stand_in);
        free(w);
}

static void
ask_quota(struct quota *q, const struct wire_gate_quota_ask *ask)
{
        struct wall *w = (struct wall *)((char *)q - offsetof(struct wall, quota));

        w->gate->ask_quota(w->gate, w->number, ask);
}

/* Takes the files of WIRE_GATE_TRANSCRIPT, if it came before. */
static int
begin_tape(struct wall *w)
{
        struct gate *g = w->gate;
        bool is_meant = g->transcript.wall == w->number && g->transcript.to >= 0;
        int from = is_meant ? fd_take(&g->transcript.from) : -1;

        if (is_meant)
                tape_begin(&w->tape, fd_take(&g->transcript.to), from >= 0, g->transcript.is_again);
        if (from >= 0)
                w->stand_in = stand_in_new(from, g->loop, &w->tape);
        /* a gate that may not dial needs a transcript, and one that may dial takes none */
        return (w->stand_in != NULL) == g->is_stand_in && (from >= 0) == g->is_stand_in ? 0
                                                                                        : -EINVAL;
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
        w->tape.fd = -1;
        turn_begin(&g->turns, &w->turn);
        denials_begin(w);
        allowed_begin(&w->allowed, g->loop, &w->link, &w->diag);
        counted_begin(&w->counted, g->loop, &w->link, &w->caps);
        quota_begin(&w->quota, g->loop, ask_quota);
        w->policy = take_policy;
        w->caps = caps_of(&head->caps);
        quota_need(&w->quota, w->caps.needs_quota != 0);
        w->names = names_new(w->caps.names);
        resolver_join(g->resolver, &w->asked);
        fair_share_join(&g->sockets, &w->sockets);
        fair_share_join(&g->held, &w->held);
        w->fresh = (struct bucket){ WALL_NAMES_BURST, loop_now_ms() };
        memcpy(w->id, head->id, sizeof w->id - 1);
        result = add_sockets(w, listeners, take_fds);
        if (result == 0)
                result = begin_tape(w);
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
        quota_need(&w->quota, w->caps.needs_quota != 0);
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
