/*
 * gate/connection_parts.h - one connection as its own files see it (connection, greeting, refusal).
 *
 *     accept --+--> PROXY (a CONNECT to read) --> DIALING (only looks) --> 200 --+
 *              +--> GREETING (first bytes) <-------------------------------------+--> DIALING --> RELAYING --> over
 *              +--> DIALING ("host:port": nothing to look at)
 *                   any of them --refused--> LEAVING (an answer that can be read, then the end) or a reset
 *                   RELAYING --a later request refused--> (the answers before it) --> LEAVING or a reset
 */
#ifndef CARREL_GATE_CONNECTION_PARTS_H
#define CARREL_GATE_CONNECTION_PARTS_H

#include <netinet/in.h>

#include "gate/connection.h"
#include "gate/dial.h"
#include "gate/flow.h"

enum connection_state { CONNECTION_PROXY, CONNECTION_GREETING, CONNECTION_DIALING, CONNECTION_RELAYING, CONNECTION_LEAVING, CONNECTION_DEAD };

struct hello_state;                            /* while a TLS greeting is read */

struct connection {
        struct job job;                        /* all that is done for it is done in its wall's turn */
        uint32_t said;                         /* events of the client since its last turn */
        bool is_late, is_unchecked;            /* its time came; the list changed since it was last found to allow this */
        void (*when_late)(struct connection *c);       /* what then; NULL: it only has its turn */
        struct wall *wall;
        struct connection *next, **back;
        enum connection_state state;
        enum egress_protocol protocol;
        struct loop_watch client, server;
        struct loop_timer timer;
        struct policy *policy;                 /* as it was at the beginning, or when it was last found to allow this */
        enum denial refused;                   /* decided before its first bytes; they only say how to tell */
        enum denial late;                      /* a request was refused while it is relayed: the answers before it are still passed on, and then ours */
        bool owes_answer;                      /* to a CONNECT: once its destination is there */
        bool is_quiet;                         /* HTTP/2 without a request: it is called for soon */
        unsigned sockets;                      /* of the gate's descriptors: 1, or 2 once somebody is called */
        uint16_t port;
        struct egress_host host;
        struct sockaddr_in6 from, to;          /* the two ends inside */
        struct hello_state *hello;
        size_t scanned;                        /* of a proxy's head: bytes that were looked at */
        struct dial *dial;
        struct flow out, in;
};

/* Tells of it, and ends it in the way its protocol can read. `other` may be NULL. */
void connection_refuse(struct connection *c, enum denial reason, const char *other);

/* Only ends it so: what was told already. */
void connection_answer(struct connection *c, enum denial reason, const char *other);

/* Tells of it alone. */
void connection_tell(struct connection *c, enum denial reason, const char *other);

/* More may have come: looks at it; refuses, dials, or waits. */
void greeting_look(struct connection *c);
void greeting_fini(struct connection *c);
void proxy_look(struct connection *c);

/* Answers its CONNECT. False: it ended. */
bool proxy_answer(struct connection *c);

/* Its destination has an address that may be dialled: answered is CONNECT only then, and only then comes a greeting. */
void connection_look(struct connection *c);

/* Reads what there is into c->out.hold. False: the client is gone, or holds too much. */
bool connection_fill(struct connection *c, size_t most);

void connection_dial(struct connection *c);

/* In its turn after this moment `when_late` is called, once. Another takes its place; `due_ms` LOOP_NEVER: none. 0 or -ENOMEM. */
int connection_wait(struct connection *c, uint64_t due_ms, void (*when_late)(struct connection *c));

/* An answer of HTTP for people and programs; NUL-terminated. Gives its length. */
size_t refusal_http(enum denial reason, const char *host, uint16_t port, const char *other, char *ret, size_t room);

/* Sends a few bytes, then lets the client read them before the end. */
void connection_leave(struct connection *c, const char *bytes, size_t len);

#endif
