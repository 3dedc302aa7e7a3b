/*
 * gate/connection_parts.h - one connection, as its own files see it (connection, greeting,
 * refusal).
 *
 *     accept --+--> PROXY (reads a CONNECT) --> DIALING (looks up only) --> 200 --+
 *              +--> GREETING (first bytes) <--------------------------------------+
 *              |        \--> DIALING --> RELAYING --> over
 *              +--> DIALING ("host:port": no bytes to judge)
 *                   any of them --refused--> LEAVING (a readable answer, then the end) or a reset
 *                   RELAYING --later request refused--> (answers before it) --> LEAVING or a reset
 */
#ifndef CARREL_GATE_CONNECTION_PARTS_H
#define CARREL_GATE_CONNECTION_PARTS_H

#include <netinet/in.h>

#include "gate/dial.h"
#include "gate/flow.h"
#include "gate/wall.h"

enum connection_state {
        CONNECTION_PROXY,
        CONNECTION_GREETING,
        CONNECTION_DIALING,
        CONNECTION_RELAYING,
        CONNECTION_LEAVING,
        CONNECTION_DEAD
};

struct player;      /* gate/stand_in.h */
struct hello_state; /* while a TLS greeting is read */

struct connection {
        struct job job;             /* all work for this connection runs in the turn of
                                     * its wall */
        uint32_t said;              /* events of the client since its last turn */
        bool is_late, is_unchecked; /* its timer expired; the list changed since the last
                                     * check of this connection */
        /* runs on expiry; NULL: the connection only gets its turn */
        void (*when_late)(struct connection *c);
        struct wall *wall;
        struct connection *next, **back;
        enum connection_state state;
        enum egress_protocol protocol;
        struct loop_watch client, server;
        struct loop_timer timer;
        struct policy *policy; /* as of the begin, or of the last check that allowed
                                * this connection */
        enum denial refused;   /* decided before its first bytes, which only select
                                * the form of the answer */
        enum denial late;      /* a request was refused while relaying: earlier
                                * answers still pass, then the refusal */
        bool owes_answer;      /* a CONNECT waits for its 200, sent once the
                                * destination is found */
        bool is_quiet;         /* HTTP/2 without a request: connect to the server
                                * early */
        unsigned sockets;      /* descriptors of the gate: 1, or 2 after a
                                * connect */
        uint16_t port;
        struct egress_host host;
        struct sockaddr_in6 from, to; /* both ends, as seen inside the sandbox */
        struct hello_state *hello;
        size_t scanned; /* bytes of a proxy's head that were already
                         * parsed */
        struct dial *dial;
        struct player *player; /* of a replay: it is the other end */
        struct taped *taped;   /* what is recorded of it, or NULL */
        struct flow out, in;
        uint64_t opened_ms; /* bytes may pass since then; 0: they never could, or this was
                             * reported */
};

/*
 * Reports the refusal, then ends the connection in a form that its protocol can read. `other` may
 * be NULL.
 */
void connection_deny(struct connection *c, enum denial reason, const char *other);

/* Ends the connection in the same way, without a report: it was already reported. */
void connection_reply(struct connection *c, enum denial reason, const char *other);

/* Only reports the refusal. */
void connection_tell(struct connection *c, enum denial reason, const char *other);

/* Call it when bytes may have arrived. Judges them, then refuses, dials or waits. */
void greeting_look(struct connection *c);
void greeting_fini(struct connection *c);
void proxy_look(struct connection *c);

/* Answers its CONNECT. False: the connection ended. */
bool proxy_answer(struct connection *c);

/*
 * Checks that the destination has an address that may be dialled. Only then the gate answers
 * CONNECT and reads a greeting.
 */
void connection_look(struct connection *c);

/*
 * Reads the available bytes into c->out.hold. False: the client closed, or more bytes are held than
 * allowed.
 */
bool connection_fill(struct connection *c, size_t most);

void connection_dial(struct connection *c);

/*
 * Calls `when_late` once, in the connection's turn after `due_ms`. A second call replaces the
 * first; LOOP_NEVER cancels it. 0 or -ENOMEM.
 */
int connection_wait(struct connection *c, uint64_t due_ms, void (*when_late)(struct connection *c));

/* Writes an HTTP answer for people and programs, NUL-terminated. Returns its length in bytes. */
size_t refusal_http(enum denial reason, const char *host, uint16_t port, const char *other,
                    char *ret, size_t room);

/* Sends a few bytes, then gives the client time to read them before the end. */
void connection_leave(struct connection *c, const char *bytes, size_t len);

#endif
