/*
 * wall/whose.c - finds the control group in which the socket at the other end of a connection was
 * created.
 *
 * Room: wall (words). Touches: net (sock_diag).
 * Theory: the client waits for its answer, so its socket still exists when the kernel is asked.
 */
#include "wall/whose.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>

#ifndef INET_DIAG_CGROUP_ID
#define INET_DIAG_CGROUP_ID 21
#endif

enum { ANSWER_MAX = 2048, STALE_MAX = 16 };

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

uint64_t
wall_whose(int diag, bool is_udp, const struct sockaddr_in6 *client, const struct sockaddr_in6 *to)
{
        struct {
                struct nlmsghdr head;
                struct inet_diag_req_v2 ask;
        } ask;
        struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
        const struct sockaddr_in6 *src, *dst;
        char answer[ANSWER_MAX];
        bool is_v4;
        ssize_t got;

        is_v4 = IN6_IS_ADDR_V4MAPPED(&client->sin6_addr) != 0;
        memset(&ask, 0, sizeof ask);
        ask.head = (struct nlmsghdr){ .nlmsg_len = sizeof ask,
                                      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                                      .nlmsg_flags = NLM_F_REQUEST };
        ask.ask.sdiag_family = is_v4 ? AF_INET : AF_INET6;
        ask.ask.sdiag_protocol = is_udp ? IPPROTO_UDP : IPPROTO_TCP;
        ask.ask.idiag_states = UINT32_MAX;
        /* for UDP the kernel needs the two ends as the socket receives; for TCP, as it sends */
        src = is_udp ? to : client;
        dst = is_udp ? client : to;
        ask.ask.id = (struct inet_diag_sockid){ .idiag_sport = src->sin6_port,
                                                .idiag_dport = dst->sin6_port,
                                                .idiag_cookie = { INET_DIAG_NOCOOKIE,
                                                                  INET_DIAG_NOCOOKIE } };
        write_address(ask.ask.id.idiag_src, &src->sin6_addr, is_v4);
        write_address(ask.ask.id.idiag_dst, &dst->sin6_addr, is_v4);
        for (int i = 0; i < STALE_MAX && recv(diag, answer, sizeof answer, MSG_DONTWAIT) > 0; i++)
                continue; /* discard answers to earlier questions */
        if (sendto(diag, &ask, sizeof ask, MSG_DONTWAIT, (struct sockaddr *)&kernel,
                   sizeof kernel) < 0)
                return 0;
        got = recv(diag, answer, sizeof answer, MSG_DONTWAIT);
        return got > 0 ? read_cgroup(answer, (size_t)got) : 0;
}
