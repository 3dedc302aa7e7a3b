/*
 * gate/gate.h - the gate itself: what its walls share.
 */
#ifndef CARREL_GATE_GATE_H
#define CARREL_GATE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/address.h"
#include "gate/pipes.h"
#include "gate/resolver.h"
#include "gate/share.h"
#include "gate/turn.h"
#include "loop/loop.h"

enum {
        GATE_SOCKETS_MAX = 60000,              /* of connections, over all walls */
        GATE_WALL_CONNECTIONS = 10240,         /* of one wall, where its caps say nothing */
        GATE_WALL_NAMES = 2048,
        GATE_NETWORKS_MAX = 256,
        GATE_GREETING_MS = 10000,              /* until something can be judged by */
        GATE_HELD_MAX = 128 << 20,             /* bytes of unfinished greetings and heads, over all walls */
        GATE_FILES_SPARE = 64,                 /* descriptors that are never given to connections or pipes */
};

struct wall;
struct connection;
struct said;

struct gate {
        struct loop *loop;
        struct resolver *resolver;
        struct egress_network networks[GATE_NETWORKS_MAX];     /* that may be dialled although they are private, or not although they are public */
        size_t network_count;
        struct pipes pipes;
        struct turns turns;                    /* what there is to do, wall by wall */
        struct wall *walls;
        struct wall *dead_walls;               /* to be freed after this turn */
        struct connection *dead;
        size_t sockets_most, wall_files;       /* for connections while the walls' own are few; and how many those are */
        struct share_pool sockets;             /* descriptors of connections, both sides, and of streams of questions: what the walls' own leave of sockets_most */
        struct share_pool held;                /* bytes of what was not passed on yet */
        struct loop_watch control;
        struct said *said, **said_last;        /* what the control socket did not take yet; gate/control.c */
        bool is_over;
};

/* Frees what ended in this turn: nothing that a callback still holds goes before it returned. */
void gate_reap(struct gate *g);

#endif
