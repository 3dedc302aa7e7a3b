/*
 * gate/name_server.c - the name server inside a wall.
 *
 *     question --permitted?--> index --listeners open?--> answer
 *                  \-> NXDOMAIN      \-> LISTEN to the box, wait --LISTENED or 2 s--> answer
 *
 * Room: gate (acting). Touches: net, clock, mem.
 * Theory: an answer comes from the address that was asked, whichever it was. A question that must
 * wait is a small struct with a deadline. Past QUESTIONS_MAX of them, the answer is sent before its
 * listeners exist. The kernel then resets a connection that finds no listener; it never takes
 * another path. If no port of a name has a listener of the gate, the answer is SERVFAIL. A server
 * of the payload may use that port, and a client must not mistake it for the one outside.
 */
#include "gate/name_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gate/accept_retry.h"
#include "gate/denials.h"
#include "gate/test_switches.h"
#include "proto/dns.h"

/* NAME_PORTS_MAX: ports of one name; a wall has fewer pairs, and fewer ports below 1024. */
enum {
        DATAGRAM_MAX = 2048,
        STREAM_ROOM = 1024,
        TTL_DENIED_S = 5,
        REASON_MAX = 400,
        NAME_PORTS_MAX = 128
};

/* Where an answer goes. */
struct origin {
        struct dns_stream *stream; /* or NULL; then: */
        int fd;
        struct sockaddr_in6 client, to; /* to: the address that was asked */
        struct in6_pktinfo info;
};

struct wanted {
        uint32_t number;
        uint16_t port;
};

struct question {
        struct wall *wall;
        struct question *next;
        struct loop_timer timer;
        struct origin origin;
        struct dns_query query;
        uint32_t index;
        struct wanted wanted[LISTEN_PORTS_MAX];
        size_t wanted_count;
};

struct dns_stream {
        struct job job;
        struct loop_watch watch;
        struct loop_timer timer;
        struct wall *wall;
        struct dns_stream *next;
        struct sockaddr_in6 client, to;
        bool is_dead, is_waiting; /* for the answer to its last question */
        bool by_edges;            /* edge-triggered, while its wall rests */
        size_t len;
        uint8_t bytes[2 + STREAM_ROOM];
};

static void stream_go_on(struct dns_stream *s);

/* -- answers ----------------------------------------------------------------------------------- */

static void
send_datagram(const struct origin *o, const uint8_t *bytes, size_t len)
{
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
        } control = { .bytes = { 0 } };
        struct sockaddr_in6 client = o->client;
        struct iovec part = { (void *)(uintptr_t)bytes, len };
        struct msghdr m = { .msg_name = &client,
                            .msg_namelen = sizeof client,
                            .msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes };
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);

        if (!c)
                return;
        c->cmsg_level = IPPROTO_IPV6;
        c->cmsg_type = IPV6_PKTINFO;
        c->cmsg_len = (__typeof__(c->cmsg_len))CMSG_LEN(sizeof o->info);
        memcpy(CMSG_DATA(c), &o->info, sizeof o->info);
        /* if it does not fit, the client asks again */
        (void)sendmsg(o->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void
stream_end(struct dns_stream *s)
{
        int fd = s->watch.fd;

        job_end(&s->job);
        loop_watch_remove(&s->watch);
        loop_timer_remove(&s->timer);
        if (fd >= 0) {
                (void)close(fd);
                fair_share_give(&s->wall->gate->sockets, &s->wall->sockets, 1);
        }
        s->is_dead = true; /* freed at the wall's next sweep, because a caller
                            * may still use it */
}

static void
reply(const struct origin *o, const struct dns_query *q, const struct dns_answer *a)
{
        uint8_t bytes[2 + DNS_ANSWER_MAX];
        size_t len = dns_answer_write(q, a, !o->stream, bytes + 2, DNS_ANSWER_MAX);

        if (len == 0)
                return;
        if (!o->stream) {
                send_datagram(o, bytes + 2, len);
                return;
        }
        bytes[0] = (uint8_t)(len >> 8);
        bytes[1] = (uint8_t)len;
        if (o->stream->is_dead)
                return;
        if (send(o->stream->watch.fd, bytes, len + 2, MSG_DONTWAIT | MSG_NOSIGNAL) !=
            (ssize_t)(len + 2))
                stream_end(o->stream);
        o->stream->is_waiting = false;
}

static void
reply_code(const struct origin *o, const struct dns_query *q, enum dns_rcode code, const char *why)
{
        struct dns_answer a = { .rcode = code,
                                .ttl_s = TTL_DENIED_S,
                                .reason = why ? DNS_REASON_PROHIBITED : DNS_REASON_NONE,
                                .reason_text = why };

        reply(o, q, &a);
}

static void
reply_index(const struct origin *o, const struct dns_query *q, uint32_t index)
{
        bool is_v6 = q->type == DNS_AAAA;
        uint8_t address[16];
        struct dns_answer a = { .rcode = DNS_NOERROR,
                                .ttl_s = NAMES_TTL_S,
                                .address = address + (is_v6 ? 0 : 12),
                                .address_len = is_v6 ? 16 : 4 };

        names_address_of(index, is_v6, address);
        reply(o, q, &a);
}

static void
tell(struct wall *w, const struct origin *o, enum denial reason, const char *host)
{
        struct denial_note note = { .reason = reason,
                                    .host = host,
                                    .other = "",
                                    .is_udp = !o->stream,
                                    .client = &o->client,
                                    .to = &o->to };

        denials_tell(w, &note);
}

static void
refuse(struct wall *w, const struct origin *o, const struct dns_query *q, enum denial reason,
       const struct egress_host *host)
{
        char text[REASON_MAX];

        (void)denial_text(reason, host->text, 0, "", text, sizeof text);
        if (q->type != DNS_PTR)
                tell(w, o, reason, host->text);
        reply_code(o, q, reason == DENIAL_TOO_MANY_NAMES ? DNS_REFUSED : DNS_NXDOMAIN, text);
}

/* -- questions that wait for listeners --------------------------------------------------------- */

static void
question_end(struct question *q)
{
        struct question **at = &q->wall->questions;

        while (*at != q)
                at = &(*at)->next;
        *at = q->next;
        q->wall->question_count--;
        loop_timer_remove(&q->timer);
        free(q);
}

/*
 * True: the gate listens on at least one port that the list gives this name. Those below 1024 exist
 * from the begin.
 */
static bool
is_served(const struct wall *w, const struct egress_host *host, uint32_t index)
{
        uint16_t ports[NAME_PORTS_MAX];
        size_t count = rules_ports(&w->policy->p.allow_rules, host->text, ports, NAME_PORTS_MAX);

        for (size_t i = 0; i < count; i++)
                if (ports[i] < 1024 || wall_has_listener(w, index, ports[i]))
                        return true;
        return false;
}

/*
 * Replies with the name's address. If only a server of the payload would answer there, it replies
 * SERVFAIL instead.
 */
static void
reply_found(struct wall *w, const struct origin *o, const struct dns_query *q, uint32_t index)
{
        int is_retired;
        const struct egress_host *host = names_find(w->names, index, loop_now_ms(), &is_retired);

        if (switch_is_off(SWITCH_NAMES) || (host && is_served(w, host, index)))
                reply_index(o, q, index);
        else
                reply_code(o, q, DNS_SERVFAIL, NULL);
}

static void
question_answer(struct question *q)
{
        struct wall *w = q->wall;
        struct origin origin = q->origin;
        struct dns_query query = q->query;
        uint32_t index = q->index;

        question_end(q);
        reply_found(w, &origin, &query, index);
        if (origin.stream && !origin.stream->is_dead)
                stream_go_on(origin.stream);
}

static void
question_late(struct loop_timer *t)
{
        question_answer((struct question *)((char *)t - offsetof(struct question, timer)));
}

/*
 * Requests a listener for each port that the list gives this name and that has none yet. Returns
 * their number.
 */
static size_t
ask_listeners(struct wall *w, const struct egress_host *host, uint32_t index,
              struct wanted ret[LISTEN_PORTS_MAX])
{
        uint16_t ports[NAME_PORTS_MAX];
        size_t count = 0, port_count = rules_ports(&w->policy->p.allow_rules, host->text, ports,
                                                   NAME_PORTS_MAX);

        for (size_t i = 0; i < port_count && count < LISTEN_PORTS_MAX; i++) {
                if (wall_has_listener(w, index, ports[i]))
                        continue;
                ret[count] = (struct wanted){ wall_ask_listener(w, index, ports[i]), ports[i] };
                count += ret[count].number != 0;
        }
        return count;
}

bool
name_server_listened(struct wall *w, uint32_t number, uint32_t *ret_index, uint16_t *ret_port,
                     int32_t sys)
{
        for (struct question *q = w->questions; q; q = q->next)
                for (size_t i = 0; i < q->wanted_count; i++) {
                        const struct egress_host *host;
                        int is_retired;

                        if (q->wanted[i].number != number)
                                continue;
                        *ret_index = q->index;
                        *ret_port = q->wanted[i].port;
                        /* there is room for it now */
                        if (sys == ENFILE && wall_retire_listener(w)) {
                                q->wanted[i].number = wall_ask_listener(w, *ret_index, *ret_port);
                                if (q->wanted[i].number != 0)
                                        return true;
                        }
                        q->wanted[i] = q->wanted[--q->wanted_count];
                        host = names_find(w->names, q->index, loop_now_ms(), &is_retired);
                        /* Questions for A and AAAA arrive together, and both request the port. The
                         * second request fails with EADDRINUSE, because the first one opened the
                         * port. */
                        if (sys != 0 && !wall_has_listener(w, *ret_index, *ret_port)) {
                                struct denial_note note = { .reason =
                                                                    sys == EADDRINUSE ? DENIAL_TAKEN
                                                                    : sys == ENFILE   ? DENIAL_PORTS
                                                                                    : DENIAL_FAILED,
                                                            .host = host ? host->text : "",
                                                            .other = "",
                                                            .port = *ret_port,
                                                            .is_udp = !q->origin.stream,
                                                            .client = &q->origin.client,
                                                            .to = &q->origin.to };

                                denials_tell(w, &note);
                        }
                        return true;
                }
        return false;
}

void
name_server_go_on(struct wall *w)
{
        struct question *q = w->questions;

        while (q) {
                struct question *done = q;

                q = q->next;
                if (done->wanted_count > 0)
                        continue;
                question_answer(done);
                q = w->questions; /* an answer over TCP may have added the next
                                   * question */
        }
}

/* Answers at once, or when the listeners are open. */
static void
answer_address(struct wall *w, const struct origin *o, const struct dns_query *q,
               const struct egress_host *host, uint32_t index)
{
        struct wanted wanted[LISTEN_PORTS_MAX];
        size_t count =
                w->question_count < QUESTIONS_MAX ? ask_listeners(w, host, index, wanted) : 0;
        struct question *late = count > 0 ? calloc(1, sizeof *late) : NULL;

        if (!late) {
                reply_found(w, o, q, index);
                return;
        }
        *late = (struct question){ .wall = w,
                                   .next = w->questions,
                                   .origin = *o,
                                   .query = *q,
                                   .index = index,
                                   .wanted_count = count };
        memcpy(late->wanted, wanted, count * sizeof *wanted);
        w->questions = late;
        w->question_count++;
        if (o->stream)
                o->stream->is_waiting = true;
        if (loop_timer_set(w->gate->loop, &late->timer, loop_now_ms() + QUESTION_MS,
                           question_late) < 0)
                question_answer(late);
}

/* -- one question ------------------------------------------------------------------------------ */

static void
give_address(struct wall *w, const struct origin *o, const struct dns_query *q,
             const struct egress_host *host)
{
        uint32_t index;

        /* never issue a name that the box does not know */
        if (!names_has(w->names, host) && !wall_can_tell(w)) {
                reply_code(o, q, DNS_SERVFAIL, NULL);
                return;
        }
        index = wall_give_name(w, host);
        if (index == 0)
                refuse(w, o, q, DENIAL_TOO_MANY_NAMES, host);
        else
                answer_address(w, o, q, host, index);
}

/*
 * `_http._tcp.NAME` (SRV), `_8443._https.NAME` (HTTPS) of a listed name: a program looks for
 * optional records, and then asks for NAME. This is not a refusal.
 */
static bool
is_service_of_listed(const struct egress_policy *p, const struct egress_host *host)
{
        struct egress_host name;
        const char *rest = host->text;
        int entry;

        while (*rest == '_' && strchr(rest, '.'))
                rest = strchr(rest, '.') + 1;
        return rest != host->text && egress_host_read(rest, name.text) &&
               admit_name(p, &name, &entry) == DENIAL_NONE;
}

static void
decide(struct wall *w, const struct origin *o, const struct dns_query *q)
{
        struct egress_host host = { "" };
        enum denial reason;
        int entry;

        if (!egress_host_read(q->name, host.text)) {
                refuse(w, o, q, DENIAL_BAD_NAME, &host);
                return;
        }
        reason = switch_is_off(SWITCH_NAMES) ? DENIAL_NONE
                                             : admit_name(&w->policy->p, &host, &entry);
        if (reason != DENIAL_NONE && admit_is_above(&w->policy->p, &host)) {
                if (q->type == DNS_A || q->type == DNS_AAAA)
                        tell(w, o, reason, host.text);
                reply_code(o, q, DNS_NOERROR, NULL);
        } else if (q->type != DNS_A && q->type != DNS_AAAA &&
                   is_service_of_listed(&w->policy->p, &host)) {
                reply_code(o, q, DNS_NXDOMAIN, NULL);
        } else if (reason != DENIAL_NONE) {
                refuse(w, o, q, reason, &host);
        } else if (q->type == DNS_A || q->type == DNS_AAAA) {
                give_address(w, o, q, &host);
        } else {
                /* The name exists, without records of this type: HTTPS and SVCB would contain ECH
                 * keys. */
                reply_code(o, q, DNS_NOERROR, NULL);
        }
}

static void
hear(struct wall *w, const struct origin *o, const uint8_t *bytes, size_t len)
{
        static const struct egress_host none = { "" };
        struct dns_query q;
        enum dns_rcode code;

        turn_use(&w->turn, TURN_QUESTION);
        switch (dns_query_read(bytes, len, &q, &code)) {
        case DNS_ASKED:
                decide(w, o, &q);
                break;
        case DNS_NOT_A_NAME:
                refuse(w, o, &q, DENIAL_BAD_NAME, &none);
                break;
        case DNS_FAULTY:
                reply_code(o, &q, code, NULL);
                break;
        case DNS_DROPPED:
                break;
        }
}

/* -- datagrams --------------------------------------------------------------------------------- */

void
name_server_datagrams(struct listener *l)
{
        for (int i = 0;
             l->fd >= 0 && !turn_is_used(&l->wall->turn) && !denials_wait_for_box(l->wall); i++) {
                uint8_t bytes[DATAGRAM_MAX];
                union {
                        struct cmsghdr align;
                        char bytes[256];
                } control;
                struct origin o = { .fd = l->fd };
                struct iovec part = { bytes, sizeof bytes };
                struct msghdr m = { .msg_name = &o.client,
                                    .msg_namelen = sizeof o.client,
                                    .msg_iov = &part,
                                    .msg_iovlen = 1,
                                    .msg_control = control.bytes,
                                    .msg_controllen = sizeof control.bytes };
                ssize_t got = recvmsg(l->fd, &m, MSG_DONTWAIT);
                struct cmsghdr *c;

                if (got < 0) {
                        /* woken without a datagram: another holder has shut down the socket */
                        listener_failed(l, i == 0 ? EIO : errno);
                        return;
                }
                o.to = (struct sockaddr_in6){ .sin6_family = AF_INET6,
                                              .sin6_port = htons(l->port) };
                c = CMSG_FIRSTHDR(&m); /* the first header for both families, IPv4 as
                                        * mapped */
                if (!c || c->cmsg_level != IPPROTO_IPV6 || c->cmsg_type != IPV6_PKTINFO) {
                        /* no datagram: the socket was shut down */
                        listener_failed(l, ENOTSOCK);
                        return;
                }
                memcpy(&o.info, CMSG_DATA(c), sizeof o.info);
                o.to.sin6_addr = o.info.ipi6_addr;
                o.info.ipi6_ifindex = 0;
                if ((m.msg_flags & MSG_TRUNC) == 0)
                        hear(l->wall, &o, bytes, (size_t)got);
        }
}

/* -- streams ----------------------------------------------------------------------------------- */

static void
stream_sweep(struct wall *w, bool all)
{
        struct dns_stream **at = &w->streams;

        while (*at) {
                struct dns_stream *s = *at;
                bool is_held = false;

                for (struct question *q = w->questions; q && !all; q = q->next)
                        is_held |= q->origin.stream == s;
                if (!s->is_dead || is_held) {
                        at = &s->next;
                        continue;
                }
                *at = s->next;
                w->stream_count--;
                free(s);
        }
}

/* Answers each complete question, one after the other. */
static void stream_turn(struct job *j);

static void
stream_go_on(struct dns_stream *s)
{
        while (!s->is_dead && !s->is_waiting && s->len >= 2) {
                size_t len = (size_t)s->bytes[0] << 8 | s->bytes[1];
                struct origin o = {
                        .stream = s, .fd = s->watch.fd, .client = s->client, .to = s->to
                };
                uint8_t one[STREAM_ROOM];

                if (len > STREAM_ROOM) {
                        stream_end(s);
                        return;
                }
                if (s->len < 2 + len)
                        return;
                if (turn_is_used(&s->wall->turn) || denials_wait_for_box(s->wall)) {
                        turn_want(&s->wall->turn, &s->job, stream_turn);
                        return;
                }
                memcpy(one, s->bytes + 2, len);
                s->len -= 2 + len;
                memmove(s->bytes, s->bytes + 2 + len, s->len);
                hear(s->wall, &o, one, len);
        }
}

static void
stream_turn(struct job *j)
{
        struct dns_stream *s = (struct dns_stream *)((char *)j - offsetof(struct dns_stream, job));
        ssize_t got = 0;

        if (s->by_edges)
                s->by_edges = loop_watch_change(&s->watch, EPOLLIN) < 0;
        /* it sends more questions than fit while one waits */
        if (s->len == sizeof s->bytes && s->is_waiting) {
                stream_end(s);
                return;
        }
        if (s->len < sizeof s->bytes) {
                got = recv(s->watch.fd, s->bytes + s->len, sizeof s->bytes - s->len, MSG_DONTWAIT);
                if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
                        stream_end(s);
                        return;
                }
        }
        s->len += got > 0 ? (size_t)got : 0;
        stream_go_on(s);
}

static void
stream_ready(struct loop_watch *w, uint32_t events)
{
        struct dns_stream *s =
                (struct dns_stream *)((char *)w - offsetof(struct dns_stream, watch));

        (void)events;
        turn_want(&s->wall->turn, &s->job, stream_turn);
        if (s->wall->turn.is_paused && !s->by_edges)
                s->by_edges = loop_watch_change(&s->watch, EPOLLIN | EPOLLET) == 0;
}

static void
stream_late(struct loop_timer *t)
{
        stream_end((struct dns_stream *)((char *)t - offsetof(struct dns_stream, timer)));
}

static void
stream_open(struct wall *w, int take_fd, const struct sockaddr_in6 *client)
{
        bool has_room =
                w->stream_count < STREAMS_MAX && fair_share_take(&w->gate->sockets, &w->sockets, 1);
        struct dns_stream *s = has_room ? calloc(1, sizeof *s) : NULL;
        socklen_t len = sizeof s->to;

        if (!s) {
                if (has_room)
                        fair_share_give(&w->gate->sockets, &w->sockets, 1);
                (void)close(take_fd);
                return;
        }
        s->wall = w;
        s->client = *client;
        (void)getsockname(take_fd, (struct sockaddr *)&s->to, &len);
        if (loop_watch_add(w->gate->loop, &s->watch, take_fd, EPOLLIN, stream_ready) < 0) {
                fair_share_give(&w->gate->sockets, &w->sockets, 1);
                (void)close(take_fd);
                free(s);
                return;
        }
        s->next = w->streams;
        w->streams = s; /* lint: the wall's list has it, and the sweep frees it */
        w->stream_count++;
        (void)loop_timer_set(w->gate->loop, &s->timer, loop_now_ms() + STREAM_MS, stream_late);
}

void
name_server_accept(struct listener *l)
{
        stream_sweep(l->wall, false);
        while (l->fd >= 0 && !turn_is_used(&l->wall->turn)) {
                struct sockaddr_in6 client;
                int fd = accept_retry(l->fd, &client);

                if (fd < 0) {
                        listener_failed(l, -fd);
                        return;
                }
                turn_use(&l->wall->turn, TURN_CONNECTION);
                stream_open(l->wall, fd, &client);
        }
}

void
name_server_end(struct wall *w)
{
        for (struct question *q = w->questions, *next; q; q = next) {
                next = q->next;
                question_end(q);
        }
        for (struct dns_stream *s = w->streams; s; s = s->next)
                if (!s->is_dead)
                        stream_end(s);
        stream_sweep(w, true);
}
