/*
 * ingress/ingress.c - reverse proxy to ports inside sandboxes: one request at a time, and a tunnel
 * for web sockets.
 *
 * Room: ingress (joining). Touches: fd, mem, clock.
 * Theory: the keeper checks the token and returns a socket that was connected inside. Each request
 * has its own socket, so two clients never share a connection of the server. Heads are rewritten
 * (ingress/head.h) and bodies are framed again. Both directions are read by http_head.h and
 * the parser. Each direction holds a bounded number of bytes; a slow peer slows only the other side
 * of its own connection.
 *
 *   HEAD --token--> CONNECT --socket--> EXCHANGE --answer is complete--> FLUSH -> HEAD ...
 *                      \-> (error) FLUSH -> LINGER   EXCHANGE --101--> TUNNEL
 */
#include "ingress/ingress.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/exchange.h"
#include "ingress/proxy.h"
#include "loop/deferred.h"

enum {
        HEAD_MS = 10 * 1000,
        KEEP_MS = 75 * 1000,
        CONNECT_MS = 30 * 1000,
        WRONG_TOKEN_MS = 200,
        IDLE_MS = 600 * 1000,
        LINGER_MS = 2 * 1000,
};

/* lint: `side` is the name of a member */
#define OF(w, side) ((struct proxy *)(void *)((char *)(w)-offsetof(struct proxy, side.watch)))

static void pump(struct proxy *p);
static void client_ready(struct loop_watch *w, uint32_t events);
static void server_ready(struct loop_watch *w, uint32_t events);

/* -- ends -------------------------------------------------------------------------------------- */

static void
forget_request(struct proxy *p)
{
        /* lint: NULL after it was freed */
        free(p->request_bytes);
        free(p->answer_bytes);
        p->request_bytes = p->answer_bytes = NULL;
        p->has_answer = 0;
        p->is_asked_in_chunks = p->answers_in_chunks = 0;
}

void
proxy_die(struct proxy *p)
{
        if (p->state == PROXY_DEAD)
                return;
        p->state = PROXY_DEAD;
        link_call_end(&p->call);
        loop_timer_remove(&p->deadline);
        side_close(&p->client);
        side_close(&p->server);
        forget_request(p);
        crowd_leave(&p->member);
        deferred_free(p);
}

static void
time_out(struct loop_timer *t)
{
        struct proxy *p = (struct proxy *)(void *)((char *)t - offsetof(struct proxy, deadline));
        struct error e;

        if (p->state != PROXY_CONNECT) {
                proxy_die(p);
                return;
        }
        if (p->has_wrong_token)
                (void)ingress_no_token(&e, "token", "this is no token of a port");
        else
                (void)fail_at(&e, ERROR_UNAVAILABLE, "port", "asleep",
                              "the sandbox of this port did not come up in %d s",
                              CONNECT_MS / 1000);
        proxy_deadline(p, LINGER_MS);
        proxy_refuse(p, &e);
        pump(p);
}

void
proxy_deadline(struct proxy *p, uint64_t ms)
{
        (void)loop_timer_set(p->door->loop, &p->deadline, loop_now_ms() + ms, time_out);
}

void
proxy_refuse(struct proxy *p, const struct error *e)
{
        struct json_writer w;
        char head[256];

        side_close(&p->server);
        link_call_end(&p->call);
        /* part of an answer was sent: the client only sees the connection close */
        if (p->has_answer) {
                proxy_die(p);
                return;
        }
        exchange_error_text(&w, e);
        (void)snprintf(head, sizeof head,
                       "HTTP/1.1 %d Refused\r\nContent-Type: application/json\r\nContent-Length: "
                       "%zu\r\n%sCache-Control: no-store\r\nConnection: close\r\n\r\n",
                       error_http_status(e->code), w.len,
                       exchange_error_passes(e) ? "Retry-After: 1\r\n" : "");
        p->closes = 1;
        p->state = PROXY_FLUSH;
        if (bytes_text(&p->client.out, head) < 0 || bytes_put(&p->client.out, w.text, w.len) < 0)
                proxy_die(p);
        json_fini(&w);
}

int
proxy_no_memory(struct proxy *p)
{
        struct error e;

        (void)fail(&e, ERROR_NO_MEMORY, "there is no memory left for this request");
        proxy_refuse(p, &e);
        return 0;
}

static void
request_piece(void *data, const char *bytes, size_t len)
{
        struct proxy *p = data;

        if (side_put_piece(&p->server.out, p->is_asked_in_chunks, bytes, len) < 0)
                p->server.is_shut = 1;
}

/* -- requests ---------------------------------------------------------------------------------- */

/*
 * Every fault of a token gives the same answer, so that a client learns nothing by guessing. That
 * answer is delayed, and meanwhile new connections may take the place of this one.
 */
static void
refuse_late(struct proxy *p)
{
        p->has_wrong_token = 1;
        crowd_wait(&p->member);
        proxy_deadline(p, WRONG_TOKEN_MS);
}

static void
refused(struct link_call *c, const struct error *e)
{
        struct proxy *p = (struct proxy *)(void *)c;

        if (p->state != PROXY_CONNECT)
                /* the keeper closed the link: the socket that it returned stays valid */
                return;
        if (error_http_status(e->code) < 500) {
                refuse_late(p);
                return;
        }
        proxy_refuse(p, e);
        pump(p);
}

static void
connected(struct link_call *c, const struct record *fields, int take_fd)
{
        struct proxy *p = (struct proxy *)(void *)c;
        struct error e;

        p->server.fd = take_fd;
        if (crowd_name(&p->member, record_get_text(fields, FIELD_OWNER, ""), &e) < 0) {
                proxy_refuse(p, &e);
        } else if (fcntl(take_fd, F_SETFL, fcntl(take_fd, F_GETFL) | O_NONBLOCK) < 0 ||
                   loop_watch_add(p->door->loop, &p->server.watch, take_fd, EPOLLIN, server_ready) <
                           0) {
                (void)proxy_no_memory(p);
        } else {
                p->target.port = (unsigned)record_get_uint(fields, FIELD_PORT, 0);
                p->state = PROXY_EXCHANGE;
                proxy_deadline(p, IDLE_MS);
                p->is_asked_in_chunks = p->request.framing == HTTP_CHUNKED;
                if (ingress_write_request(&p->request, &p->target, &p->server.out) < 0)
                        (void)proxy_no_memory(p);
        }
        pump(p);
}

/* The call lasts as long as the connection inside, so that the keeper knows of it. */
static const struct link_call_ops call_ops = { .refused = refused, .given = connected };

static int
begin_connect(struct proxy *p)
{
        static _Alignas(16) unsigned char room[512];
        struct record_writer w;
        struct error e;

        record_init(&w, room, sizeof room);
        record_text(&w, FIELD_TOKEN, p->target.token);
        p->call.ops = &call_ops;
        p->state = PROXY_CONNECT;
        proxy_deadline(p, CONNECT_MS);
        if (link_call_begin(p->door->link, &p->call, NULL, OP_PORT_CONNECT, &w, &e) < 0)
                proxy_refuse(p, &e);
        return 1;
}

static int
on_head(struct proxy *p)
{
        struct error e;
        size_t len;
        int found = p->client.in.len == 0
                            ? 0
                            : http_head_scan(p->client.in.at + p->client.in.first, p->client.in.len,
                                             &p->client.scanned, &len, &e);

        if (found == 0)
                return 0;
        crowd_busy(&p->member);
        if (found > 0) {
                p->client.scanned = 0;
                p->request_bytes = side_take_head(&p->client.in, len);
                if (!p->request_bytes)
                        return proxy_no_memory(p);
                reader_init(&p->request_reader, 0, 0);
        }
        if (found < 0 ||
            http_head_read(p->request_bytes, len, HTTP_METHODS_PROXY, &p->request, &e) < 0 ||
            reader_head(&p->request_reader, p->request_bytes, &p->request, &e) < 0 ||
            ingress_find(&p->request, &p->target, &e) < 0) {
                proxy_refuse(p, &e);
                return 1;
        }
        p->closes = p->request.is_last;
        http_body_init(&p->request_body, &p->request);
        if (p->request.wants_continue &&
            bytes_text(&p->client.out, "HTTP/1.1 100 Continue\r\n\r\n") < 0)
                return proxy_no_memory(p);
        return begin_connect(p);
}

/* Passes more of the body to the server. Returns 1 if bytes were moved. */
static int
pass_request(struct proxy *p)
{
        struct error e;
        size_t taken;

        if (p->request_body.is_over || p->client.in.len == 0 || p->server.out.len >= SIDE_HIGH)
                return 0;
        if (http_body_take(&p->request_body, p->client.in.at + p->client.in.first, p->client.in.len,
                           &taken, &e) < 0 ||
            reader_body(&p->request_reader, p->client.in.at + p->client.in.first, taken,
                        request_piece, p, &e) < 0) {
                proxy_refuse(p, &e);
                return 1;
        }
        bytes_drop(&p->client.in, taken);
        if (p->request_body.is_over && p->is_asked_in_chunks &&
            bytes_text(&p->server.out, "0\r\n\r\n") < 0)
                return proxy_no_memory(p);
        if (p->server.is_shut || p->request_body.is_over != p->request_reader.is_complete) {
                proxy_die(p);
                return 0;
        }
        return taken > 0;
}

/* -- tunnels ----------------------------------------------------------------------------------- */

static int
tunnel(struct proxy *p, struct side *from, struct side *to)
{
        int moved = 0;

        if (from->in.len > 0 && to->out.len < SIDE_HIGH) {
                if (bytes_put(&to->out, from->in.at + from->in.first, from->in.len) < 0) {
                        proxy_die(p);
                        return 0;
                }
                bytes_drop(&from->in, from->in.len);
                moved = 1;
        }
        if (from->is_eof && from->in.len == 0 && to->out.len == 0 && !to->is_shut) {
                to->is_shut = 1;
                (void)shutdown(to->fd, SHUT_WR);
                if (from->is_shut)
                        proxy_die(p);
        }
        return moved;
}

/* -- state changes ----------------------------------------------------------------------------- */

static int
on_flush(struct proxy *p)
{
        if (p->client.out.len > 0)
                return 0;
        if (p->closes) {
                (void)shutdown(p->client.fd, SHUT_WR);
                bytes_fini(&p->client.in);
                p->state = PROXY_LINGER;
                crowd_wait(&p->member);
                proxy_deadline(p, LINGER_MS);
                return 1;
        }
        forget_request(p);
        p->state = PROXY_HEAD;
        crowd_wait(&p->member);
        proxy_deadline(p, p->client.in.len > 0 ? HEAD_MS : KEEP_MS);
        return 1;
}

static int
step(struct proxy *p)
{
        switch (p->state) {
        case PROXY_HEAD:
                return on_head(p);
        case PROXY_EXCHANGE:
                return pass_request(p) + (p->state == PROXY_EXCHANGE ? proxy_pass_answer(p) : 0);
        case PROXY_TUNNEL:
                return tunnel(p, &p->client, &p->server) +
                       (p->state == PROXY_TUNNEL ? tunnel(p, &p->server, &p->client) : 0);
        case PROXY_FLUSH:
                return on_flush(p);
        case PROXY_LINGER:
                bytes_fini(&p->client.in);
                return 0;
        default:
                return 0;
        }
}

static void
pump(struct proxy *p)
{
        int moves = 1;

        if (p->is_pumping || p->state == PROXY_DEAD)
                return;
        p->is_pumping = 1;
        while (moves && p->state != PROXY_DEAD) {
                size_t waited;

                moves = step(p);
                if (p->state == PROXY_DEAD)
                        break;
                waited = p->client.out.len + p->server.out.len;
                if (side_flush(&p->client) < 0)
                        proxy_die(p);
                else if (side_flush(&p->server) < 0)
                        /* the server may answer before it has read everything */
                        bytes_drop(&p->server.out, p->server.out.len);
                /* there is room again */
                moves |= p->client.out.len + p->server.out.len < waited;
        }
        p->is_pumping = 0;
        if (p->state == PROXY_DEAD)
                return;
        if (p->client.is_eof && p->state != PROXY_TUNNEL && p->state != PROXY_FLUSH) {
                proxy_die(p);
                return;
        }
        side_watch(p->door->loop, &p->client, p->state != PROXY_CONNECT, 1, client_ready);
        side_watch(p->door->loop, &p->server, p->client.out.len < SIDE_HIGH, 0, server_ready);
}

static void
moved(struct proxy *p)
{
        if (p->state == PROXY_EXCHANGE || p->state == PROXY_FLUSH)
                proxy_deadline(p, IDLE_MS);
        else if (p->state == PROXY_TUNNEL)
                proxy_deadline(p, PROXY_TUNNEL_MS);
}

static void
client_ready(struct loop_watch *w, uint32_t events)
{
        struct proxy *p = OF(w, client);

        if ((events & EPOLLERR) != 0) {
                proxy_die(p);
                return;
        }
        if ((events & (EPOLLIN | EPOLLHUP)) != 0) {
                int had = p->client.in.len > 0, got = side_read(&p->client);

                if (got < 0) {
                        proxy_die(p);
                        return;
                }
                /* The first byte of a head starts its deadline; later bytes do not extend it. */
                if (p->state == PROXY_HEAD && got > 0 && !had)
                        proxy_deadline(p, HEAD_MS);
                /* lint: two reasons with the same result */
        } else if ((events & EPOLLRDHUP) != 0 && p->client.in.len >= SIDE_HIGH) {
                p->client.is_eof = 1;
        } else if ((events & EPOLLRDHUP) != 0 && p->state == PROXY_CONNECT) {
                p->client.is_eof = 1;
        }
        moved(p);
        pump(p);
}

static void
server_ready(struct loop_watch *w, uint32_t events)
{
        struct proxy *p = OF(w, server);

        if ((events & ~(uint32_t)EPOLLOUT) != 0 && p->server.in.len < SIDE_HIGH) {
                if (side_read(&p->server) < 0)
                        p->server.is_eof = 1;
        } else if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
                /* until there is room to read its last bytes */
                loop_watch_remove(&p->server.watch);
        }
        moved(p);
        pump(p);
}

static void
let_go(struct crowd_member *m)
{
        proxy_die((struct proxy *)(void *)((char *)m - offsetof(struct proxy, member)));
}

void
ingress_open(struct listener *l, int take_fd)
{
        struct door *d = l->door;
        struct proxy *p = deferred_make(d->loop, struct proxy);
        struct error e;
        int yes = 1;

        if (!p) {
                (void)close(take_fd);
                return;
        }
        p->door = d;
        p->listener = l;
        p->client.fd = take_fd;
        p->server.fd = -1;
        p->server.watch.fd = -1;
        p->state = PROXY_HEAD;
        (void)setsockopt(take_fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        if (crowd_join(&l->crowd, &p->member, NULL, let_go, &e) < 0) {
                listener_turn_away(take_fd, &e);
                deferred_free(p);
                return;
        }
        if (loop_watch_add(d->loop, &p->client.watch, take_fd, EPOLLIN | EPOLLRDHUP, client_ready) <
            0) {
                proxy_die(p);
                return;
        }
        proxy_deadline(p, HEAD_MS);
}
