/*
 * door/ingress_head.h - heads on their way through the port proxy: who may pass, and what is said on the other side. Pure, but for memory.
 */
#ifndef CARREL_DOOR_INGRESS_HEAD_H
#define CARREL_DOOR_INGRESS_HEAD_H

#include "base/error.h"
#include "door/bytes.h"
#include "proto/http_head.h"

enum { INGRESS_TOKEN_MAX = 63, INGRESS_HOST_MAX = 63 };

/* Where a request goes. */
struct ingress_target {
        char token[INGRESS_TOKEN_MAX + 1];
        int is_prefix;                 /* the token stands in the path: answers that lead elsewhere get it back */
        struct http_text path;         /* what the server inside is asked for; borrowed from the head */
        int wants_upgrade;
        char called[INGRESS_HOST_MAX + 1];     /* what the server inside is told we are called: X-Forwarded-Host; "" where that is long */
        unsigned port;                 /* the one inside; 0: not known yet */
};

/*
 * The token of a request: /~TOKEN/..., a Host of TOKEN.localhost, or X-Carrel-Token; one of them. Errors: ERROR_FORBIDDEN, also where Host is not
 * this machine or a page of another origin opens a web socket.
 */
int ingress_find(const struct http_head *h, struct ingress_target *ret, struct error *e);

/* ERROR_FORBIDDEN, with where tokens come from. Always returns -1. */
int ingress_no_token(struct error *e, const char *reason, const char *sentence);

/*
 * The head that the server inside gets: hop-by-hop fields and our token gone, where it came from added. With the token in the path only cookies
 * that were set through it. -1: no memory.
 */
int ingress_write_request(const struct http_head *h, const struct ingress_target *t, struct bytes *out);

/*
 * The head that the client gets. `is_chunked`: the body goes as chunks; `closes`: the connection ends with it. Cookies lose their Domain, so that none is
 * set for a neighbour, and with the token in the path another name; Referrer-Policy is same-origin, or no-referrer; a Location with a name that the server takes for its own leads through us again. -1: no memory.
 */
int ingress_write_answer(const struct http_head *h, const struct ingress_target *t, int is_chunked, int closes, struct bytes *out);

#endif
