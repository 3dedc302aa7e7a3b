/*
 * ingress/head.h - checks and rewrites HTTP heads for the port proxy. Pure, except that it
 * allocates memory.
 */
#ifndef CARREL_INGRESS_HEAD_H
#define CARREL_INGRESS_HEAD_H

#include "base/byte_queue.h"
#include "base/error.h"
#include "proto/http_head.h"

enum { INGRESS_TOKEN_MAX = 63, INGRESS_HOST_MAX = 63 };

/* The destination of a request. */
struct ingress_target {
        char token[INGRESS_TOKEN_MAX + 1];
        /* the token is in the path: it is added to redirects in answers */
        int is_prefix;
        struct http_text path; /* the path for the server inside; borrowed from the head */
        int wants_upgrade;
        /* our host name for the server inside (X-Forwarded-Host); "" if it is too long */
        char called[INGRESS_HOST_MAX + 1];
        unsigned port; /* the port inside; 0: not known yet */
};

/*
 * Finds the token of a request. It is in exactly one of: the path /~TOKEN/..., a Host of
 * TOKEN.localhost, X-Carrel-Token. Errors: ERROR_FORBIDDEN, also if Host is not this machine, or if
 * a page of another origin opens a web socket.
 */
int ingress_find(const struct http_head *h, struct ingress_target *ret, struct error *e);

/* Writes ERROR_FORBIDDEN, and where to get a token. Always returns -1. */
int ingress_no_token(struct error *e, const char *reason, const char *sentence);

/*
 * Writes the head for the server inside. It has no hop-by-hop fields and no token; the forwarding
 * fields are added. With the token in the path, only cookies that were set through that token are
 * passed. Returns -1 if out of memory.
 */
int ingress_write_request(const struct http_head *h, const struct ingress_target *t,
                          struct bytes *out);

/*
 * Writes the head for the client. `is_chunked`: the body is sent in chunks; `closes`: the
 * connection ends with it. Cookies lose their Domain, so that no cookie is set for another token.
 * With the token in the path they are renamed. Referrer-Policy is same-origin, or no-referrer. A
 * Location with a host name that the server takes for its own leads through the proxy again.
 * Returns -1 if out of memory.
 */
int ingress_write_answer(const struct http_head *h, const struct ingress_target *t, int is_chunked,
                         int closes, struct bytes *out);

#endif
