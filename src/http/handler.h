/*
 * http/handler.h - what the handler of a route gets: a request, the hooks for what happens later,
 * and who asks. How it answers: http/exchange.h.
 */
#ifndef CARREL_HTTP_HANDLER_H
#define CARREL_HTTP_HANDLER_H

#include <stddef.h>

#include "link/call.h"
#include "loop/loop.h"

enum { EXCHANGE_HIGH = 512 * 1024 /* queued bytes above which to pause the source */ };

struct exchange;

struct exchange_hooks {
        /*
         * The client disconnected or was too slow: release everything; the exchange ends too.
         * Without this hook, the answer is still sent if possible.
         */
        void (*gone)(struct exchange *x);
        /* the queued bytes were sent; the source may continue */
        void (*drained)(struct exchange *x);
        /* streamed bodies: len 0 is the end */
        void (*body)(struct exchange *x, const void *bytes, size_t len);
};

struct exchange {
        const char *method; /* "GET", "POST", "PUT", "PATCH", "DELETE" */
        const char *path;   /* as sent, without the query; starts with '/' */
        const char *query;  /* as sent, after '?'; "" if there is no query */
        const char *body;   /* the whole body; NUL-terminated; "" while it streams */
        size_t body_len;
        struct api_peer peer; /* the caller */
        struct link *link;
        struct loop *loop;
        void *state; /* owned by the handler */
        const struct exchange_hooks *hooks;
        int has_begun; /* the head of the answer was written */
};

struct route;

/* Answers the exchange, now or later (http/exchange.h). */
typedef void route_handler(struct exchange *x, const struct route *r);

#endif
