/*
 * gate/wall.h - one wall: its policy, sockets, names, connections and counters.
 *
 *     wall_add --(WIRE_WALL_NAMED...)--> WIRE_WALL_BEGIN --> serves --> wall_drop, or its link ends
 */
#ifndef CARREL_GATE_WALL_H
#define CARREL_GATE_WALL_H

#include "egress/names.h"
#include "gate/counted.h"
#include "gate/denials.h"
#include "gate/gate.h"
#include "gate/policy.h"
#include "wire/gate.h"
#include "wire/message.h"

enum listener_kind { LISTENER_TCP, LISTENER_PROXY, LISTENER_DNS_UDP, LISTENER_DNS_TCP };

/*
 * A listening socket of the wall. Level-triggered; edge-triggered while its wall rests; paused for
 * a moment after accept fails.
 */
struct listener {
        struct job job;
        struct loop_watch watch;
        struct loop_timer again;
        struct wall *wall;
        struct listener *next;
        enum listener_kind kind;
        int fd;
        uint16_t port;
        uint32_t index; /* of the name it belongs to; 0: any */
        bool by_edges;
};

/* The bytes per second that may pass, one way. */
struct bucket {
        uint64_t tokens, at_ms;
};

struct question; /* a DNS answer that waits for a listener;
                  * gate/name_server.c */
struct dns_stream;

struct wall {
        struct gate *gate;
        struct wall *next;
        uint32_t number;
        char id[BOX_ID_LEN];
        struct policy *policy;
        struct turn turn;           /* its work queue */
        struct job last;            /* the job that ends it */
        struct wire_gate_caps caps; /* none is 0 except those of bytes */
        struct names *names;
        struct loop_watch link;
        int diag;
        bool has_begun, is_dead;
        struct listener *listeners;
        size_t listener_count;
        struct connection *connections;
        size_t connection_count;
        struct fair_share sockets, held; /* of the gate's descriptors and memory */
        struct resolver_user asked;      /* and of the resolver's questions */
        uint64_t accepted, denied, bytes_out, bytes_in;
        struct bucket out, in;
        struct bucket fresh; /* how many new names are allowed now */
        struct denials denials;
        struct counted counted; /* bytes_out and bytes_in, as its box keeps them */
        struct question *questions;
        size_t question_count;
        struct dns_stream *streams;
        size_t stream_count;
        uint32_t last_request;
};

struct wall *wall_find(struct gate *g, uint32_t number);

/* Takes the link, the sockets and the policy; on failure it closes them too. 0 or -errno. */
int wall_add(struct gate *g, const struct wire_gate_policy *head, struct policy *take_policy,
             const struct wall_listener *listeners, struct wire_message *take_fds);

/* Replaces the list and the caps. Resets each connection that the new list does not allow. */
void wall_set(struct wall *w, const struct wire_gate_policy *head, struct policy *take_policy);

/*
 * Ends the wall: closes its sockets and resets its connections. It is freed after the last
 * connection.
 */
void wall_drop(struct wall *w);
void wall_free(struct wall *w);

/* True: the box accepts messages. */
bool wall_can_tell(const struct wall *w);

/* Reports a new name to the box, or that an old one lost its address. */
void wall_tell_named(struct wall *w, uint32_t index, const char *host, bool is_retired);

/*
 * Call it when accept fails with `sys`. Unless no connection waits, accept is retried after a
 * moment. Another holder of the socket can shut it down; without the pause, the gate would only
 * handle that event.
 */
void listener_failed(struct listener *l, int sys);

/* True: a listener exists for this port at this name. */
bool wall_has_listener(const struct wall *w, uint32_t index, uint16_t port);

/*
 * Retires the longest unused of the names that have their own listeners (ports from 1024), if it is
 * idle for long enough. The box then closes these listeners. False: no name qualifies.
 */
bool wall_retire_listener(struct wall *w);

/* Asks the box for a listener. Returns the request number, or 0. */
uint32_t wall_ask_listener(struct wall *w, uint32_t index, uint16_t port);

/*
 * wall_allowance(): how many of `want` bytes may pass now; 0: none, ask again soon.
 * wall_count_bytes() counts passed bytes; false: the cap on bytes is reached.
 */
size_t wall_allowance(struct wall *w, bool is_out, size_t want);
bool wall_count_bytes(struct wall *w, bool is_out, size_t len);

/*
 * The index of a permitted name. A new name gets one now, and the box is informed. 0: too many
 * names, or too fast (H11).
 */
uint32_t wall_give_name(struct wall *w, const struct egress_host *host);

#endif
