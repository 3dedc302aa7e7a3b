/*
 * gate/denials.c - telling the box what was refused, and who asked.
 *
 * Room: gate (acting). Touches: net (sock_diag of the wall's own namespace), clock.
 * Theory: a denial is told before it is answered, so that the end of the exec that made it can speak of it: what the command could know, its box has been told.
 * Two commands may be refused the same one after the other, so this holds of the first DENIALS_AT_ONCE of a kind in a second; more are a flood, are counted, and told
 * once as a number. The socket of the one who asked is still there when we look: it waits for our answer.
 */
#include "gate/denials.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <string.h>

#include "gate/wall.h"

#ifndef INET_DIAG_CGROUP_ID
#define INET_DIAG_CGROUP_ID 21
#endif

enum { ANSWER_MAX = 2048, STALE_MAX = 16 };

static bool
is_mapped(const struct in6_addr *a)
{
        return IN6_IS_ADDR_V4MAPPED(a) != 0;
}

static void
write_address(uint32_t ret[4], const struct in6_addr *a, bool is_v4)
{
        memset(ret, 0, 16);
        if (is_v4)
                memcpy(ret, a->s6_addr + 12, 4);
        else
                memcpy(ret, a->s6_addr, 16);
}

/* The cgroup in an answer of sock_diag, or 0. */
static uint64_t
read_cgroup(const char *bytes, size_t len)
{
        struct nlmsghdr head;
        size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct inet_diag_msg));
        uint64_t id = 0;

        if (len < sizeof head)
                return 0;
        memcpy(&head, bytes, sizeof head);
        if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || head.nlmsg_len > len)
                return 0;
        while (at + sizeof(struct rtattr) <= head.nlmsg_len) {
                struct rtattr a;

                memcpy(&a, bytes + at, sizeof a);
                if (a.rta_len < sizeof a || at + a.rta_len > head.nlmsg_len)
                        break;
                if (a.rta_type == INET_DIAG_CGROUP_ID && a.rta_len == RTA_LENGTH(sizeof id))
                        memcpy(&id, bytes + at + RTA_LENGTH(0), sizeof id);
                at += RTA_ALIGN(a.rta_len);
        }
        return id;
}

/* Asks the kernel for the socket at the client's end. */
static uint64_t
find_cgroup(const struct wall *w, const struct denial_note *n)
{
        struct { struct nlmsghdr head; struct inet_diag_req_v2 ask; } ask;
        struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
        const struct sockaddr_in6 *src, *dst;
        char answer[ANSWER_MAX];
        bool is_v4;
        ssize_t got;

        if (w->diag < 0 || !n->client || !n->to)
                return 0;
        is_v4 = is_mapped(&n->client->sin6_addr);
        memset(&ask, 0, sizeof ask);
        ask.head = (struct nlmsghdr){ .nlmsg_len = sizeof ask, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST };
        ask.ask.sdiag_family = is_v4 ? AF_INET : AF_INET6;
        ask.ask.sdiag_protocol = n->is_udp ? IPPROTO_UDP : IPPROTO_TCP;
        ask.ask.idiag_states = UINT32_MAX;
        src = n->is_udp ? n->to : n->client;   /* of UDP the kernel wants a datagram's two ends as the socket receives it, of TCP as it sends */
        dst = n->is_udp ? n->client : n->to;
        ask.ask.id = (struct inet_diag_sockid){ .idiag_sport = src->sin6_port, .idiag_dport = dst->sin6_port,
                                                .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } };
        write_address(ask.ask.id.idiag_src, &src->sin6_addr, is_v4);
        write_address(ask.ask.id.idiag_dst, &dst->sin6_addr, is_v4);
        for (int i = 0; i < STALE_MAX && recv(w->diag, answer, sizeof answer, MSG_DONTWAIT) > 0; i++)
                continue;                      /* nothing of an earlier question is taken for this one's answer */
        if (sendto(w->diag, &ask, sizeof ask, MSG_DONTWAIT, (struct sockaddr *)&kernel, sizeof kernel) < 0)
                return 0;
        got = recv(w->diag, answer, sizeof answer, MSG_DONTWAIT);
        return got > 0 ? read_cgroup(answer, (size_t)got) : 0;
}

static void
send_one(struct wall *w, const struct wire_wall_denied *d)
{
        if (w->link.fd >= 0)
                (void)wire_send(w->link.fd, WIRE_WALL_DENIED, d, sizeof *d, NULL, 0);   /* a box that does not read misses it; counters stay */
}

static bool
is_same(const struct wire_wall_denied *a, const struct wire_wall_denied *b)
{
        return a->reason == b->reason && a->port == b->port && a->cgroup == b->cgroup && strcmp(a->host, b->host) == 0 && strcmp(a->other, b->other) == 0 &&
               memcmp(a->address, b->address, sizeof a->address) == 0;
}

static void flush_due(struct loop_timer *t);

static void
set_timer(struct wall *w)
{
        uint64_t due = LOOP_NEVER;

        for (size_t i = 0; i < DENIALS_RECENT; i++)
                if (w->denials.recent[i].d.count > 0 && w->denials.recent[i].until_ms < due)
                        due = w->denials.recent[i].until_ms;
        (void)loop_timer_set(w->gate->loop, &w->denials.timer, due, flush_due);
}

/* Those whose second is over (all, with `now` LOOP_NEVER). */
static void
flush(struct wall *w, uint64_t now)
{
        for (size_t i = 0; i < DENIALS_RECENT; i++) {
                struct denial_recent *r = &w->denials.recent[i];

                if (r->until_ms == 0 || r->until_ms > now)
                        continue;
                if (r->d.count > 0)
                        send_one(w, &r->d);
                memset(r, 0, sizeof *r);
        }
}

static void
flush_due(struct loop_timer *t)
{
        struct wall *w = (struct wall *)((char *)t - offsetof(struct wall, denials.timer));

        flush(w, loop_now_ms());
        set_timer(w);
}

void
denials_flush(struct wall *w)
{
        flush(w, UINT64_MAX);
        loop_timer_remove(&w->denials.timer);
}

void
denials_tell(struct wall *w, const struct denial_note *note)
{
        struct wire_wall_denied d = { .at_ms = loop_now_ms(), .reason = (uint32_t)note->reason, .count = 1, .port = note->port };
        struct denial_recent *r;

        w->denied++;
        (void)snprintf(d.host, sizeof d.host, "%s", note->host);
        (void)snprintf(d.other, sizeof d.other, "%s", note->other);
        if (note->to) {
                memcpy(d.address, &note->to->sin6_addr, sizeof d.address);
                d.family = is_mapped(&note->to->sin6_addr) ? 4 : 6;
        }
        d.cgroup = find_cgroup(w, note);
        flush(w, d.at_ms);
        for (size_t i = 0; i < DENIALS_RECENT; i++) {
                r = &w->denials.recent[i];
                if (r->until_ms == 0 || !is_same(&r->d, &d))
                        continue;
                if (r->told < DENIALS_AT_ONCE) {
                        r->told++;
                        send_one(w, &d);
                        return;
                }
                r->d.count++;
                set_timer(w);
                return;
        }
        r = &w->denials.recent[w->denials.next++ % DENIALS_RECENT];
        if (r->until_ms != 0 && r->d.count > 0)
                send_one(w, &r->d);
        send_one(w, &d);
        *r = (struct denial_recent){ d, d.at_ms + DENIALS_SECOND_MS, 1 };
        r->d.count = 0;                        /* more of it, since it was told */
}
