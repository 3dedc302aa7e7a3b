/*
 * http/connection.h - one accepted connection: its descriptor, the bytes that wait, its end. What
 * it does with them is in http/serve.h.
 *
 * Only connection.c, request.c, serve.c and exchange.c access the struct.
 */
#ifndef CARREL_HTTP_CONNECTION_H
#define CARREL_HTTP_CONNECTION_H

#include "base/buffer.h"
#include "base/byte_queue.h"
#include "http/door.h"
#include "http/handler.h"
#include "http/route.h"
#include "proto/http_head.h"
#include "proto/http_reader.h"

enum {
        CONNECTION_IN_MAX = 64 * 1024, /* bytes read ahead */
        CONNECTION_STALL_MS = 300 * 1000
};

struct connection;

enum connection_state {
        CONNECTION_HEAD,  /* waits for a head */
        CONNECTION_ASK,   /* waits until the keeper has named the token's owner */
        CONNECTION_BODY,  /* reads a body; a streaming handler may hold the exchange */
        CONNECTION_WAIT,  /* the handler has the exchange */
        CONNECTION_FLUSH, /* sends the answer */
        /*
         * closed for writing; discards further input, so that the answer is not lost to a TCP reset
         */
        CONNECTION_LINGER,
        /*
         * the descriptor is closed; a handler still holds the exchange, or the struct is being
         * freed
         */
        CONNECTION_DEAD,
};

/* What drives a connection (http/serve.c). */
struct connection_steps {
        void (*go_on)(struct connection *c); /* something changed */
        void (*late)(struct connection *c);  /* its deadline passed */
};

struct connection {
        struct exchange x;    /* must be first */
        struct link_call who; /* in the state ASK */
        struct crowd_member member;
        struct loop_watch watch;
        struct loop_timer deadline, kick, delay;
        const struct connection_steps *steps;
        struct door *door;
        struct listener *listener;
        int fd, is_tcp;
        uid_t uid;
        /* mark of the token whose owner this connection counts for; 0: none */
        uint64_t known;
        enum connection_state state;
        struct bytes in, out;
        size_t scanned; /* bytes of `in`, for http_head_scan() */
        int is_eof, is_processing, has_served;
        unsigned failures; /* refused credentials */
        struct error *delayed;
        /* the request */
        char *head_bytes;
        struct http_head head;
        struct http_body body;
        struct reader reader;
        struct route route;
        struct buffer whole; /* a body that is collected */
        size_t kept_body;    /* bytes of it that its handler keeps */
        int is_held, is_body_paused, is_too_large;
        /* the answer */
        /* bytes collected for it; the bytes in `out` are counted separately */
        size_t kept;
        char added[2048];
        size_t added_len;
        int is_done, is_last, is_chunked, has_length;
        uint64_t left;
};

void connection_send(struct connection *c, const void *const *parts, const size_t *lens,
                     size_t count);
void connection_finished(struct connection *c);
void connection_cut(struct connection *c);
/* Out of memory: in the next turn the connection is cut, and its handler gets `gone`. */
void connection_fall(struct connection *c);
void connection_watch(struct connection *c);
void connection_kick(struct connection *c);
/* Sends what waits. */
void connection_flush(struct connection *c);
/*
 * Closes the descriptor. It also frees the struct, unless a handler without a `gone` hook still
 * holds the exchange, or a step is under way, after which connection_bury() does it.
 */
void connection_die(struct connection *c);
void connection_bury(struct connection *c);
/* Forgets a request, and prepares the connection for its next one. */
void connection_forget(struct connection *c);
void connection_drop_body(struct connection *c);
void connection_deadline(struct connection *c, uint64_t ms); /* 0: none */

#endif
