/*
 * proto/http2.h - follows the requests on a cleartext HTTP/2 connection (prior knowledge), and says
 * how far they may be passed on.
 *
 * Deciding, pure; changes no byte. Frames of the client are parsed as far as framing goes; the
 * header block of each request is held until it is whole (HEADERS and its CONTINUATIONs), read with
 * nghttp2's HPACK, and shown. What other frames carry passes as it comes.
 *
 * HPACK's state needs nothing of the server's direction: the newest entries of a dynamic table have
 * the same indices whatever its greatest size is, so two tables of one block sequence agree on each
 * index that both have, and one that only the server has is refused here. What the client announces
 * (up to HTTP2_TABLE_MAX) is followed, as the server follows it. Source: RFC 9113, RFC 7541;
 * attacks H12, and "SNI, Host, :authority per stream".
 */
#ifndef CARREL_PROTO_HTTP2_H
#define CARREL_PROTO_HTTP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "proto/authority.h"

enum {
        HTTP2_BLOCK_MAX = 32 * 1024, /* bytes of HEADERS and CONTINUATIONs on the wire: what the
                                        caller's buffer must hold */
        HTTP2_FRAMES_MAX = 8,        /* frames of one header block */
        HTTP2_FRAME_MAX =
                16 *
                1024, /* bytes of a frame that is held; DATA may be as long as the server takes */
        HTTP2_LIST_MAX =
                64 * 1024, /* bytes of names and values once they are unpacked, and 32 for each */
        HTTP2_FIELDS_MAX = 128,
        HTTP2_TABLE_MAX = 64 * 1024 /* bytes of the dynamic table: memory of one connection */
};

struct http2_request {
        struct authority host; /* :authority, or host; both if both are present */
        uint32_t stream;
        char method[24];
};

enum http2_verdict { /* as those of HTTP/1 */
                     HTTP2_MORE,
                     HTTP2_REQUEST, /* a request's head lies behind *ret_pass bytes:
                                       http2_request(), then http2_permit(), or refuse */
                     HTTP2_NO_HOST, /* neither :authority nor host, or they differ */
                     HTTP2_CONNECT, /* :method CONNECT, of any kind */
                     HTTP2_MALFORMED,
                     HTTP2_NO_MEMORY
};

struct http2;

/* NULL without memory. The first bytes are the preface. */
struct http2 *http2_new(void);
void http2_free(struct http2 *j);

/* As http1_take(): the bytes that were not passed on yet, of the client's direction. */
enum http2_verdict http2_take(struct http2 *j, const uint8_t *bytes, size_t len, size_t *ret_pass,
                              struct error *e);
const struct http2_request *http2_request(const struct http2 *j);
void http2_permit(struct http2 *j);

#endif
