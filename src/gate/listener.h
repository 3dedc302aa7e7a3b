/*
 * gate/listener.h - the listening sockets of a wall.
 */
#ifndef CARREL_GATE_LISTENER_H
#define CARREL_GATE_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "gate/wall.h"

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
        void (*accept)(struct listener *l); /* takes what waits on it, in a turn of its wall */
        int fd;
        uint16_t port;
        uint32_t index; /* of the name it belongs to; 0: any */
        bool by_edges;
};

/*
 * Adds a listener to the wall: a socket of the internet, of that kind, at `port`, for the name of
 * `index` (0: any). Takes the descriptor, and closes it on failure. 0 or -errno.
 */
int listener_add(struct wall *w, int take_fd, enum listener_kind kind, uint16_t port,
                 uint32_t index, void (*accept)(struct listener *l));

/* Begins to serve it. 0, also if it is served already, or -errno. */
int listener_begin(struct listener *l);

/* Closes it. Its wall frees it (listener_free_all()). */
void listener_end(struct listener *l);
void listener_free_all(struct wall *w);

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

#endif
