/*
 * proto/http1.h - follows the requests on a plain HTTP/1 connection, and says how far they may be
 * passed on.
 *
 * Deciding, pure; changes no byte. Every head is read whole, by the strict reader (http_head.h) and
 * by llhttp, which have to agree, before a byte of it may pass; bodies pass as they come. Bytes
 * that belong to no request are malformed. Pipelining needs nothing of the caller: heads come one
 * after the other.
 *
 *     HEAD --whole, well-formed--> JUDGED --http1_permit()--> BODY --its end--> HEAD
 *                                                         \-> WAITS (Upgrade)
 * --http1_switched(true)--> TUNNEL
 *                                                                             \-http1_switched(false)->
 * HEAD Source: RFC 9112; attacks H12.
 */
#ifndef CARREL_PROTO_HTTP1_H
#define CARREL_PROTO_HTTP1_H

#include <stdbool.h>

#include "proto/authority.h"
#include "proto/http_head.h"
#include "proto/http_reader.h"

/* The caller's buffer must hold a whole head: HTTP1_HEAD_MAX bytes. */
enum { HTTP1_HEAD_MAX = HTTP_HEAD_MAX };

enum http1_form {
        HTTP1_ORIGIN,    /* /path */
        HTTP1_ABSOLUTE,  /* http://host/path, as written for a proxy; its authority equals Host */
        HTTP1_AUTHORITY, /* CONNECT host:port */
        HTTP1_ASTERISK   /* OPTIONS * */
};
enum http1_upgrade {
        HTTP1_NO_UPGRADE,
        HTTP1_WEBSOCKET, /* permitted: after the server's 101 it is a tunnel to the same name. Only
                            as a connection's first request, else it is OTHER */
        HTTP1_H2C,
        HTTP1_OTHER /* to be refused */
};

struct http1_request {
        enum http1_form form;
        enum http1_upgrade upgrade;
        struct authority host;   /* of the one Host header */
        struct authority target; /* ABSOLUTE and AUTHORITY (its port is never 0); else as `host` */
        char method[24];
        bool is_secure_target; /* ABSOLUTE with https:// */
};

enum http1_verdict {
        HTTP1_MORE,    /* *ret_pass bytes may be passed on; the rest must wait for more */
        HTTP1_REQUEST, /* the same, and behind them lies a whole head: look at j->request, then
                          http1_permit() and http1_take() again, or refuse */
        HTTP1_WAITING, /* the same, and nothing more until http1_switched() */
        HTTP1_NO_HOST, /* Host is missing, empty, or stands twice; *ret_pass bytes before it were in
                          order */
        HTTP1_MALFORMED /* likewise; `e` says what */
};

struct http1 {
        struct http1_request request; /* the last one */
        /* The reader's own. */
        int state;
        bool is_last;
        uint64_t count; /* of requests permitted */
        size_t scanned, head_len;
        struct http_body body;
        struct reader reader;
};

void http1_init(struct http1 *j);

/*
 * Looks at `len` bytes that were not passed on yet: they begin where *ret_pass of the last call
 * ended. Always the same answer, however they are cut. After NO_HOST or MALFORMED nothing passes
 * any more.
 */
enum http1_verdict http1_take(struct http1 *j, const char *bytes, size_t len, size_t *ret_pass,
                              struct error *e);

/* The request that was shown may pass. Of a permitted CONNECT the head is the caller's: what
 * follows is no HTTP, so do not call http1_take() again. */
void http1_permit(struct http1 *j);

/* What the server answered to an Upgrade: from now on everything passes, or requests are judged on.
 */
void http1_switched(struct http1 *j, bool is_switched);

/*
 * The other direction, asked only while HTTP1_WAITING: all bytes that the server sent on this
 * connection, `len` of them. 1: it switched (101); 0: it answered otherwise; -1: not known yet; -2:
 * no HTTP answer, or HTTP1_HEAD_MAX bytes and no answer.
 */
int http1_answer_status(const char *bytes, size_t len);

#endif
