/*
 * gate/wall.h - one wall: what may pass it, its sockets, its names, its connections, what it counted.
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

/* A socket of the wall. Level-triggered, by edges while its wall rests; put off for a moment where accepting fails. */
struct listener {
        struct job job;
        struct loop_watch watch;
        struct loop_timer again;
        struct wall *wall;
        struct listener *next;
        enum listener_kind kind;
        int fd;
        uint16_t port;
        uint32_t index;                        /* of the name it belongs to; 0: any */
        bool by_edges;
};

/* What may pass per second, one way. */
struct bucket { uint64_t tokens, at_ms; };

struct question;                               /* a DNS answer that waits for a listener; gate/name_server.c */
struct dns_stream;

struct wall {
        struct gate *gate;
        struct wall *next;
        uint32_t number;
        char id[BOX_ID_LEN];
        struct policy *policy;
        struct turn turn;                      /* what there is to do for it */
        struct job last;                       /* to end it */
        struct wire_gate_caps caps;            /* none is 0 but those of bytes */
        struct names *names;
        struct loop_watch link;
        int diag;
        bool has_begun, is_dead;
        struct listener *listeners;
        size_t listener_count;
        struct connection *connections;
        size_t connection_count;
        struct share sockets, held;            /* of what the gate has: descriptors, memory */
        struct resolver_user asked;            /* and of the resolver's questions */
        uint64_t accepted, denied, bytes_out, bytes_in;
        struct bucket out, in;
        struct bucket fresh;                   /* new names: how many more, now */
        struct denials denials;
        struct counted counted;                /* bytes_out and bytes_in, as its box keeps them */
        struct question *questions;
        size_t question_count;
        struct dns_stream *streams;
        size_t stream_count;
        uint32_t last_request;
};

struct wall *wall_find(struct gate *g, uint32_t number);

/* Takes the link, the sockets and the policy; closes what it took also when it fails. 0 or -errno. */
int wall_add(struct gate *g, const struct wire_gate_policy *head, struct policy *take_policy, const struct wall_listener *listeners, struct wire_message *take_fds);

/* From now on this list, and these caps; what it no longer allows is reset. */
void wall_set(struct wall *w, const struct wire_gate_policy *head, struct policy *take_policy);

/* Ends it: nothing of it is served any more, its sockets are closed, its connections reset. It is freed when they are. */
void wall_drop(struct wall *w);
void wall_free(struct wall *w);

/* Does the box take what it is told? */
bool wall_can_tell(const struct wall *w);

/* Tells the box of a new name, and that an old one lost its address. */
void wall_tell_named(struct wall *w, uint32_t index, const char *host, bool is_retired);

/*
 * Nothing can be accepted, for `sys`: unless that is only because nobody is there, it is looked at again in a moment. Whoever else holds the socket can shut it down,
 * and a gate that is told of that again and again would serve nobody.
 */
void listener_failed(struct listener *l, int sys);

/* Is there a listener for this port at this name? */
bool wall_has_listener(const struct wall *w, uint32_t index, uint16_t port);

/*
 * Of the names that have listeners of their own, on ports from 1024 on, retires the one that was not used for longest, if that is long enough, and lets the box close what
 * listened for it. False: none is.
 */
bool wall_retire_listener(struct wall *w);

/* Asks the box for one. The number of the request, or 0. */
uint32_t wall_ask_listener(struct wall *w, uint32_t index, uint16_t port);

/* How many of `want` bytes may pass now; 0: none, ask again soon. And what did pass: false once the cap on bytes is reached. */
size_t wall_allowance(struct wall *w, bool is_out, size_t want);
bool wall_count_bytes(struct wall *w, bool is_out, size_t len);

/* The index of a name that is permitted, given to it now if it has none, and told to the box. 0: too many, or too fast (H11). */
uint32_t wall_give_name(struct wall *w, const struct egress_host *host);

#endif
