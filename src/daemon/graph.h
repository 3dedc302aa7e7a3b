/*
 * daemon/graph.h - the daemon's processes and the links between them, one row each. `carrel serve`
 * starts them from these rows, and `--graph` prints them.
 */
#ifndef CARREL_DAEMON_GRAPH_H
#define CARREL_DAEMON_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "programs/programs.h"

enum graph_process {
        /* the launcher's children, in start order */
        PROCESS_SPAWNER,
        PROCESS_KEEPER,
        PROCESS_DOOR,
        PROCESS_FETCHER,
        PROCESS_RECORDER,
        PROCESS_FILES,
        PROCESS_GATE,
        PROCESS_JUDGE,
        PROCESS_VALIDATORS,
        PROCESS_LAUNCHER,
        PROCESS_BOX,
        PROCESS_MAKER,
        PROCESS_GUEST,
        PROCESS_CALLER,
        PROCESS_MAX,
        PROCESS_CHILDREN = PROCESS_LAUNCHER
};

struct graph_process_row {
        const char *name;    /* as in documents and logs */
        const char *program; /* NULL: not a program of Carrel */
        /* the program the launcher starts; PROGRAM_MAX: none, or a fork of the launcher */
        enum program image;
        const char *role; /* first argument, or NULL */
        /* gets the operator's environment, without the launcher's own variables */
        bool has_environment;
        /* its children outlive the daemon, so they must not hold the daemon's standard error */
        bool is_mute;
        const char *started_by, *keeps, *closes, *purpose;
};

/*
 * Descriptors that the launcher keeps for the next start of a process, or creates for each start.
 */
enum graph_slot {
        SLOT_PAIR, /* a new pair of sockets for the two processes */
        /* listening; kept */
        SLOT_KEEPER_SOCKET,
        SLOT_HTTP_SOCKET,
        SLOT_TCP_SOCKET,
        SLOT_INGRESS_SOCKET,
        /* sealed memory; kept */
        SLOT_HOST_FILE,
        SLOT_POOL_FILE,
        /* a program to execute; kept */
        SLOT_BRIDGE,
        /* a pair, new with each keeper; the launcher keeps one end */
        SLOT_GATES,
        SLOT_ELSEWHERE, /* not created by the launcher; only for the printed graph */
        SLOT_MAX
};

struct graph_link_row {
        enum graph_process from, to;
        /*
         * options that name the descriptor on the command line; NULL: it is descriptor 3, or not
         * from the launcher
         */
        const char *from_option, *to_option;
        enum graph_slot slot;
        const char *kind, *says;
};

const struct graph_process_row *graph_process(enum graph_process process);

/* The link at `index`; NULL after the last. */
const struct graph_link_row *graph_link_at(size_t index);

/* Prints the two tables as text or as one JSON object. 0, or -1 if printing failed. */
int graph_print(FILE *out, bool is_json);

#endif
