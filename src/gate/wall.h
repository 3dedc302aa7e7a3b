/*
 * gate/wall.h - one wall: its policy, names, caps and counters, for what serves it. Its begin and
 * its end are in gate/wall_life.h.
 */
#ifndef CARREL_GATE_WALL_H
#define CARREL_GATE_WALL_H

#include "egress/names.h"
#include "gate/allowed.h"
#include "gate/counted.h"
#include "gate/gate.h"
#include "gate/policy.h"
#include "gate/quota.h"
#include "gate/tape.h"
#include "wire/gate.h"
#include "wire/message.h"

/* New names at once: programs use few, DNS tunnels many (H11). */
enum { WALL_NAMES_BURST = 128 };

/* The bytes per second that may pass, one way. */
struct bucket {
        uint64_t tokens, at_ms;
};

/* How it slows down what is refused (gate/denials.h). */
struct denials {
        uint64_t left, at_ms;          /* refusals that are still allowed now, as of at_ms */
        struct loop_timer rest;        /* until further refusals are allowed */
        uint32_t untold;               /* refusals that did not fit on the link: sent as a number
                                        * with the next one */
        bool is_resting, is_link_full; /* each of the two pauses the wall's turn */
};

struct listener;
struct question; /* a DNS answer that waits for a listener;
                  * gate/name_server.c */
struct dns_stream;
struct stand_in; /* gate/stand_in.h */

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
        struct listener *listeners; /* gate/listener.h */
        size_t listener_count;
        struct connection *connections;
        size_t connection_count;
        struct fair_share sockets, held; /* of the gate's descriptors and memory */
        struct resolver_user asked;      /* and of the resolver's questions */
        uint64_t accepted, denied;
        struct bucket out, in;
        struct bucket fresh; /* how many new names are allowed now */
        struct denials denials;
        struct counted counted; /* the bytes that passed */
        struct quota quota;     /* those that may still be sent today */
        struct allowed allowed;
        struct tape tape;          /* what servers answer is recorded there */
        struct stand_in *stand_in; /* of a replay: nothing is dialled; or NULL */
        struct question *questions;
        size_t question_count;
        struct dns_stream *streams;
        size_t stream_count;
        uint32_t last_request;
};

struct wall *wall_find(struct gate *g, uint32_t number);

/* True: the box accepts messages. */
bool wall_can_tell(const struct wall *w);

/* Reports a new name to the box, or that an old one lost its address. */
void wall_tell_named(struct wall *w, uint32_t index, const char *host, bool is_retired);

/*
 * wall_allowance(): how many of `want` bytes may pass now; 0: none, ask again soon.
 * wall_may_send(): how many of those that were read already. wall_count_bytes() counts passed
 * bytes; false: the cap on bytes is reached.
 */
size_t wall_allowance(struct wall *w, bool is_out, size_t want);
size_t wall_may_send(struct wall *w, bool is_out, size_t want);
bool wall_count_bytes(struct wall *w, bool is_out, size_t len);

/*
 * The index of a permitted name. A new name gets one now, and the box is informed. 0: too many
 * names, or too fast (H11).
 */
uint32_t wall_give_name(struct wall *w, const struct egress_host *host);

#endif
