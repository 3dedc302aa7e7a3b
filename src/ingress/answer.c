/*
 * ingress/answer.c - passes the answer of the server inside to the client.
 *
 * Room: ingress (joining). Touches: mem, clock.
 * Theory: nothing is passed that http_head.h and the parser do not both understand. The body is
 * framed again. One request gets one answer.
 */
#include <stdlib.h>

#include "ingress/proxy.h"

static void
answer_piece(void *data, const char *bytes, size_t len)
{
        struct proxy *p = data;

        if (side_put_piece(&p->client.out, p->answers_in_chunks, bytes, len) < 0)
                p->closes = 2;
}

static int
bad_answer(struct proxy *p, const char *why)
{
        struct error e;

        (void)fail_at(&e, ERROR_PORT_ANSWER_INVALID, NULL, "answer",
                      "the server inside answered: %s", why);
        proxy_refuse(p, &e);
        return 1;
}

static int
begin_answer(struct proxy *p)
{
        int is_bodiless =
                p->request.method == HTTP_METHOD_HEAD || p->answer.framing == HTTP_NO_BODY;
        struct error e;

        reader_init(&p->answer_reader, 1, is_bodiless);
        if (reader_head(&p->answer_reader, p->answer_bytes, &p->answer, &e) < 0)
                return bad_answer(p, e.message);
        http_body_init(&p->answer_body, &p->answer);
        p->answer_body.is_over |= is_bodiless;
        p->answers_in_chunks =
                !is_bodiless && p->answer.framing != HTTP_LENGTH && p->request.minor == 1;
        if (!p->request_body.is_over ||
            (!is_bodiless && p->answer.framing != HTTP_LENGTH && !p->answers_in_chunks))
                p->closes = 1;
        if (ingress_write_answer(&p->answer, &p->target, p->answers_in_chunks, p->closes != 0,
                                 &p->client.out) < 0)
                return proxy_no_memory(p);
        p->has_answer = 1;
        if (p->answer.status == 101) {
                p->state = PROXY_TUNNEL;
                proxy_deadline(p, PROXY_TUNNEL_MS);
        }
        return 1;
}

static int
on_answer_head(struct proxy *p)
{
        struct error e;
        size_t len;
        int found = p->server.in.len == 0
                            ? 0
                            : http_head_scan(p->server.in.at + p->server.in.first, p->server.in.len,
                                             &p->server.scanned, &len, &e);

        if (found < 0)
                return bad_answer(p, e.message);
        if (found == 0)
                return p->server.is_eof ? bad_answer(p, "it closed the connection") : 0;
        p->server.scanned = 0;
        free(p->answer_bytes);
        p->answer_bytes = side_take_head(&p->server.in, len);
        if (!p->answer_bytes)
                return proxy_no_memory(p);
        if (http_head_read(p->answer_bytes, len, 0, &p->answer, &e) < 0)
                return bad_answer(p, e.message);
        if (p->answer.status == 101 && !(p->target.wants_upgrade && p->answer.wants_upgrade &&
                                         http_head_find(&p->answer, "upgrade")))
                return bad_answer(p, "it changed the protocol unasked");
        if (p->answer.status < 200 && p->answer.status != 101)
                return 1; /* an interim answer: another one follows */
        return begin_answer(p);
}

static int
answer_over(struct proxy *p)
{
        if (p->answers_in_chunks && bytes_text(&p->client.out, "0\r\n\r\n") < 0)
                p->closes = 2;
        side_close(&p->server);
        link_call_end(&p->call); /* the socket inside is no longer in use */
        p->state = PROXY_FLUSH;
        return 1;
}

int
proxy_pass_answer(struct proxy *p)
{
        struct error e;
        size_t taken;

        if (!p->has_answer)
                return on_answer_head(p);
        if (p->answer_body.is_over)
                return answer_over(p);
        if (p->server.in.len > 0 && p->client.out.len < SIDE_HIGH) {
                if (http_body_take(&p->answer_body, p->server.in.at + p->server.in.first,
                                   p->server.in.len, &taken, &e) < 0 ||
                    reader_body(&p->answer_reader, p->server.in.at + p->server.in.first, taken,
                                answer_piece, p, &e) < 0 ||
                    p->closes == 2) {
                        proxy_die(p);
                        return 0;
                }
                bytes_drop(&p->server.in, taken);
                return 1;
        }
        if (!p->server.is_eof || p->server.in.len > 0)
                return 0;
        if (p->answer.framing == HTTP_UNTIL_CLOSE)
                return answer_over(p);
        /* cut short: the client's answer is cut short too */
        proxy_die(p);
        return 0;
}
