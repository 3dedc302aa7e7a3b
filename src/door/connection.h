/*
 * door/connection.h - one accepted connection: requests in, answers out, in order. Only connection.c, request.c and exchange.c look inside.
 */
#ifndef CARREL_DOOR_CONNECTION_H
#define CARREL_DOOR_CONNECTION_H

#include "door/bytes.h"
#include "door/door.h"
#include "door/exchange.h"
#include "door/routes.h"
#include "proto/http_head.h"
#include "proto/http_reader.h"

enum connection_state {
        CONNECTION_HEAD,       /* waits for a head */
        CONNECTION_ASK,        /* the keeper says whose token it is */
        CONNECTION_BODY,       /* a body comes in; a streaming handler may hold the exchange */
        CONNECTION_WAIT,       /* the handler has the exchange */
        CONNECTION_FLUSH,      /* the answer goes out */
        CONNECTION_LINGER,     /* closed for writing; what still comes is thrown away, so that the answer is not reset */
        CONNECTION_DEAD,       /* the descriptor is closed; a handler still holds the exchange, or it is being freed */
};

struct connection {
        struct exchange x;             /* first */
        struct keeper_call who;        /* in the state ASK */
        struct crowd_member member;
        struct loop_watch watch;
        struct loop_timer deadline, kick, delay;
        struct door *door;
        struct listener *listener;
        int fd, is_tcp;
        uid_t uid;
        uint64_t known;                /* the mark of the token whose owner it counts for; 0: none */
        enum connection_state state;
        struct bytes in, out;
        size_t scanned;                /* of `in`, for http_head_scan() */
        int is_eof, is_processing, has_served;
        unsigned failures;             /* credentials that were refused */
        struct error *delayed;
        /* the request */
        char *head_bytes;
        struct http_head head;
        struct http_body body;
        struct reader reader;
        struct route route;
        char *whole;                   /* a body that is collected */
        size_t whole_len, whole_room;
        size_t kept_body;              /* of it, that its handler keeps */
        int is_held, is_body_paused, is_too_large;
        /* the answer */
        size_t kept;                   /* bytes that are collected for it; those in `out` count besides */
        char added[2048];
        size_t added_len;
        int is_done, is_last, is_chunked, has_length;
        uint64_t left;
};

/* Takes an accepted, non-blocking descriptor. */
void connection_open(struct listener *l, int take_fd, int is_tcp);

/* For exchange.c and request.c. */
void connection_send(struct connection *c, const void *const *parts, const size_t *lens, size_t count);
void connection_finished(struct connection *c);
void connection_cut(struct connection *c);
void connection_fall(struct connection *c);      /* no memory: it is cut in the next turn, and its handler told */
void connection_watch(struct connection *c);
void connection_kick(struct connection *c);
void connection_die(struct connection *c);
void connection_refuse(struct connection *c, const struct error *e);     /* before there is a handler: said, then closed */
void connection_deadline(struct connection *c, uint64_t ms);             /* 0: none */

#endif
