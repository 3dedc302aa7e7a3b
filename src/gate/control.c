/*
 * gate/control.c - messages between the gate and its keeper.
 *
 * Room: gate (acting). Touches: fd, mem.
 * Theory: the gate trusts the keeper, but still validates every message. An inconsistent message
 * ends the gate, and its parent restarts it. A keeper that does not read ends nothing (Q1,
 * keeper/peer.h). The queue for it is short: the one answer that is due, because the gate reads no
 * further message meanwhile, and for each wall one message that it was lost, one that gives bytes
 * back and one that asks for more.
 */
#include "gate/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/scoped.h"
#include "gate/connection.h"
#include "gate/wall_life.h"

enum { CONTROL_BATCH = 64, SERVERS_MAX = 4096, BODY_MAX = GATE_POLICY_MAX + 4096 };

/* -- sending ----------------------------------------------------------------------------------- */

static void
flush(struct gate *g)
{
        if (wire_queue_flush(&g->said) < 0)
                g->is_over = true;
        if (!g->said.first)
                (void)loop_watch_change(&g->control, EPOLLIN);
}

/*
 * If the socket is full, the message waits, in order. While one waits, no more messages of the
 * keeper are read.
 */
static void
say(struct gate *g, uint16_t kind, const void *body, size_t len)
{
        if (wire_queue_send(&g->said, kind, body, len, NULL, 0) < 0)
                g->is_over = true;
        if (g->said.first)
                (void)loop_watch_change(&g->control, EPOLLOUT);
}

/* -- receiving --------------------------------------------------------------------------------- */

/* The text at *at, which must end before `end`. NULL: it does not. */
static const char *
take_text(const char **at, const char *end)
{
        const char *text = *at;
        size_t len = strnlen(text, (size_t)(end - text));

        if (text + len >= end)
                return NULL;
        *at += len + 1;
        return text;
}

static int
hear_config(struct gate *g, const char *body, size_t len)
{
        struct wire_gate_config head;
        const char *at = body + sizeof head, *end;
        char servers[SERVERS_MAX] = "";
        size_t used = 0;
        struct error e;

        if (len < sizeof head)
                return -EPROTO;
        memcpy(&head, body, sizeof head);
        end = at + head.texts_len;
        if (len - sizeof head < head.texts_len || head.networks > GATE_NETWORKS_MAX)
                return -EPROTO;
        for (uint32_t i = 0; i < head.resolvers; i++) {
                const char *text = take_text(&at, end);

                if (!text || used + strlen(text) + 2 > sizeof servers)
                        return -EPROTO;
                used += (size_t)snprintf(servers + used, sizeof servers - used, "%s%s",
                                         i > 0 ? "," : "", text);
        }
        g->network_count = 0;
        for (uint32_t i = 0; i < head.networks; i++) {
                const char *text = take_text(&at, end);

                if (!text || !egress_network_rule_read(text, &g->networks[g->network_count++]))
                        return -EPROTO;
        }
        return used > 0 && resolver_use(g->resolver, servers, &e) < 0 ? -EPROTO : 0;
}

static int
answer(struct gate *g, const struct wire_gate_policy *head, int result)
{
        struct wire_gate_added added = { .wall = head->wall,
                                         .generation = head->generation,
                                         .sys = result };

        say(g, WIRE_GATE_ADDED, &added, sizeof added);
        return 0;
}

/* Reads the listeners after the texts: one for each descriptor beyond the fixed ones. */
static const char *
find_listeners(const struct wire_gate_policy *head, size_t len, const char *body, size_t fd_count)
{
        size_t at = (sizeof *head + head->texts_len + 7) & ~(size_t)7;

        if (fd_count < 1 + WALL_FIXED || head->listeners != fd_count - 1 - WALL_FIXED ||
            at + head->listeners * sizeof(struct wall_listener) > len)
                return NULL;
        return body + at;
}

static int
hear_policy(struct gate *g, struct wire_message *m, const char *body, bool has_fds)
{
        static struct wall_listener listeners[WIRE_FDS_MAX];
        struct wire_gate_policy head;
        struct policy *policy;
        struct wall *w;
        int result;

        if (m->len < sizeof head)
                return -EPROTO;
        memcpy(&head, body, sizeof head);
        if (head.texts_len > m->len - sizeof head)
                return -EPROTO;
        if (!has_fds)
                return answer(g, &head, EMFILE);
        w = wall_find(g, head.wall);
        policy = policy_new(body + sizeof head, head.texts_len, head.allow, head.private_names,
                            head.generation);
        if (!policy)
                return answer(g, &head, EINVAL);
        if (m->kind == WIRE_GATE_SET) {
                if (!w) {
                        policy_unref(policy);
                        return answer(g, &head, ENOENT);
                }
                wall_set(w, &head, policy);
                return answer(g, &head, 0);
        }
        body = w ? NULL : find_listeners(&head, m->len, body, m->fd_count);
        if (!body) {
                policy_unref(policy);
                return answer(g, &head, w ? EEXIST : EINVAL);
        }
        memcpy(listeners, body, head.listeners * sizeof *listeners);
        result = wall_add(g, &head, policy, listeners, m);
        return answer(g, &head, -result);
}

static int
hear_number(struct gate *g, const struct wire_message *m, const char *body)
{
        struct wire_number number;
        struct wire_gate_used used = { 0 };
        struct wall *w;

        if (m->len != sizeof number)
                return -EPROTO;
        memcpy(&number, body, sizeof number);
        w = wall_find(g, (uint32_t)number.number);
        if (m->kind == WIRE_GATE_DROP) {
                if (w)
                        wall_drop(w);
                return 0;
        }
        used.wall = (uint32_t)number.number;
        if (w) {
                used.connections = (uint32_t)w->connection_count;
                used.names = (uint32_t)names_count(w->names);
                used.accepted = w->accepted;
                used.denied = w->denied;
                used.bytes_out = w->counted.out;
                used.bytes_in = w->counted.in;
        }
        say(g, WIRE_GATE_USED, &used, sizeof used);
        return 0;
}

static void
ask_quota(struct gate *g, uint32_t wall, const struct wire_gate_quota_ask *ask)
{
        struct wire_gate_quota_ask said = *ask;

        said.wall = wall;
        say(g, WIRE_GATE_QUOTA_ASK, &said, sizeof said);
}

static int
hear_quota(struct gate *g, const struct wire_message *m, const char *body)
{
        struct wire_gate_quota answer;
        struct wall *w;

        if (m->len != sizeof answer)
                return -EPROTO;
        memcpy(&answer, body, sizeof answer);
        w = wall_find(g, answer.wall);
        if (!w && answer.bytes > 0) /* dropped meanwhile */
                ask_quota(g, answer.wall,
                          &(struct wire_gate_quota_ask){ .number = answer.number,
                                                         .left = answer.bytes });
        if (!w)
                return 0;
        if (quota_hear(&w->quota, &answer) < 0)
                return -EPROTO;
        connection_go_on_all(w);
        return 0;
}

static int
hear_transcript(struct gate *g, struct wire_message *m, const char *body)
{
        struct wire_gate_transcript head;

        if (m->len != sizeof head || m->fd_count < 1 || m->fd_count > 2)
                return -EPROTO;
        memcpy(&head, body, sizeof head);
        scoped_fd_close(&g->transcript.to);
        scoped_fd_close(&g->transcript.from);
        g->transcript.wall = head.wall;
        g->transcript.is_again = head.is_again != 0;
        g->transcript.to = fd_take(&m->fds[0]);
        if (m->fd_count == 2)
                g->transcript.from = fd_take(&m->fds[1]);
        return 0;
}

static int
hear(struct gate *g, struct wire_message *m, const char *body, bool has_fds)
{
        switch (m->kind) {
        case WIRE_GATE_CONFIG:
                return hear_config(g, body, m->len);
        case WIRE_GATE_ADD:
        case WIRE_GATE_SET:
                return hear_policy(g, m, body, has_fds);
        case WIRE_GATE_DROP:
        case WIRE_GATE_USAGE:
                return hear_number(g, m, body);
        case WIRE_GATE_QUOTA:
                return hear_quota(g, m, body);
        case WIRE_GATE_TRANSCRIPT:
                return has_fds ? hear_transcript(g, m, body) : 0;
        default:
                return -EPROTO;
        }
}

static void
control_ready(struct loop_watch *watch, uint32_t events)
{
        static _Alignas(8) char body[BODY_MAX];
        struct gate *g = (struct gate *)((char *)watch - offsetof(struct gate, control));
        struct wire_message m;

        if ((events & EPOLLOUT) != 0 || g->said.first)
                flush(g);
        for (int i = 0; i < CONTROL_BATCH && !g->is_over && !g->said.first; i++) {
                int result = wire_receive(watch->fd, 0, &m, body, sizeof body);

                if (result == -EAGAIN)
                        return;
                /* a wall without free descriptors here gets an error; the other walls stay */
                if (result == 1 || result == -EMFILE)
                        result = hear(g, &m, body, result == 1) < 0 ? -EPROTO : 1;
                wire_message_close(&m);
                if (result <= 0)
                        g->is_over = true;
        }
}

/* The link ended without a message of the keeper, which may add the wall again. */
static void
lose(struct wall *w)
{
        const struct wire_number number = { (int32_t)w->number };

        wall_drop(w);
        say(w->gate, WIRE_GATE_DROPPED, &number, sizeof number);
}

int
control_open(struct gate *g, int fd)
{
        g->lost = lose;
        g->transcript.to = g->transcript.from = -1;
        g->ask_quota = ask_quota;
        wire_queue_init(&g->said, fd, 0, 0);
        return loop_watch_add(g->loop, &g->control, fd, EPOLLIN, control_ready);
}
