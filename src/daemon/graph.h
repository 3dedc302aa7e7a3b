/*
 * daemon/graph.h - which processes there are, and who talks to whom: one row each. `carrel serve` starts them by these rows, and `--graph`
 * prints them.
 */
#ifndef CARREL_DAEMON_GRAPH_H
#define CARREL_DAEMON_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "image/image.h"

enum graph_process {
        PROCESS_SPAWNER, PROCESS_KEEPER, PROCESS_DOOR, PROCESS_FETCHER, PROCESS_GATE,        /* the launcher's children, in the order they are started */
        PROCESS_LAUNCHER, PROCESS_BOX, PROCESS_MAKER, PROCESS_GUEST, PROCESS_CALLER,
        PROCESS_MAX,
        PROCESS_CHILDREN = PROCESS_LAUNCHER
};

struct graph_process_row {
        const char *name;              /* as people and logs call it */
        const char *program;           /* or NULL: somebody else's */
        enum image image;              /* that the launcher starts; IMAGE_MAX: none, or a fork of its own */
        const char *role;              /* first argument, or NULL */
        bool has_environment;          /* is given the operator's, without what is the launcher's own */
        bool is_mute;                  /* its own children outlive us, and must not hold our standard error */
        const char *started_by, *keeps, *closes, *purpose;
};

/* What the launcher holds on to, so that a restart finds it again, or makes anew each time. */
enum graph_slot {
        SLOT_PAIR,                     /* a fresh pair of sockets for the two of them */
        SLOT_KEEPER_SOCKET, SLOT_HTTP_SOCKET, SLOT_TCP_SOCKET, SLOT_INGRESS_SOCKET,    /* listening; kept */
        SLOT_HOST_FILE, SLOT_POOL_FILE,                                                /* sealed memory; kept */
        SLOT_GATES,                                                                    /* a pair, new with each keeper; the launcher keeps its end */
        SLOT_ELSEWHERE,                /* not made by the launcher: for the picture */
        SLOT_MAX
};

struct graph_link_row {
        enum graph_process from, to;
        const char *from_option, *to_option;   /* how the descriptor is named on the command line; NULL: it is descriptor 3, or not the launcher's */
        enum graph_slot slot;
        const char *kind, *says;
};

const struct graph_process_row *graph_process(enum graph_process process);

/* One after another, NULL at the end. */
const struct graph_link_row *graph_link_at(size_t index);

/* The two tables, for people or as one JSON object. 0, or -1 where it could not be printed. */
int graph_print(FILE *out, bool is_json);

#endif
