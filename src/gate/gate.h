/*
 * gate/gate.h - the gate: what its walls share.
 */
#ifndef CARREL_GATE_GATE_H
#define CARREL_GATE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/address.h"
#include "gate/fair_share.h"
#include "gate/pipes.h"
#include "gate/resolver.h"
#include "gate/turn.h"
#include "loop/loop.h"
#include "wire/gate.h"
#include "wire/queue.h"

enum {
        GATE_SOCKETS_MAX = 60000,      /* of connections, over all walls */
        GATE_WALL_CONNECTIONS = 10240, /* per wall, if its caps set no value */
        GATE_WALL_NAMES = 2048,
        GATE_NETWORKS_MAX = 256,
        GATE_GREETING_MS = 10000,  /* to receive bytes that can be judged */
        GATE_HELD_MAX = 128 << 20, /* bytes of unfinished greetings and heads, over all
                                    * walls */
        GATE_FILES_SPARE = 64,     /* descriptors never used for connections or pipes */
};

struct wall;
struct connection;

struct gate {
        struct loop *loop;
        struct resolver *resolver;
        /* networks of the operator: private ones that may be dialled, and public ones that may
         * not */
        struct egress_network networks[GATE_NETWORKS_MAX];
        size_t network_count;
        struct pipes pipes;
        struct turns turns; /* pending work, by wall */
        struct wall *walls;
        struct wall *dead_walls; /* freed after this turn */
        struct connection *dead;
        size_t sockets_most, wall_files; /* sockets for connections while the walls' own are
                                          * few; the number of the walls' own descriptors */
        /* descriptors of connections (both sides) and of DNS streams: sockets_most less what the
         * walls themselves need */
        struct fair_share_pool sockets;
        struct fair_share_pool held; /* bytes not passed on yet */
        struct loop_watch control;
        struct wire_queue said; /* messages that wait for the control socket; gate/control.c */
        /* Drops a wall that its box gave up; the keeper may add it again (gate/control.c). */
        void (*lost)(struct wall *w);
        /* Sends it for the wall with this number. */
        void (*ask_quota)(struct gate *g, uint32_t wall, const struct wire_gate_quota_ask *ask);
        bool is_over;
        bool is_stand_in; /* it may not dial: each wall is replayed */
        /* of WIRE_GATE_TRANSCRIPT, for the wall that is added next; -1: none */
        struct {
                uint32_t wall;
                bool is_again;
                int to, from;
        } transcript;
};

/* Frees what ended in this turn, so that no callback loses an object before it returns. */
void gate_reap(struct gate *g);

#endif
