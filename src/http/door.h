/*
 * http/door.h - the state of the program: its loop, its link to the keeper, and the body bytes that
 * it holds.
 */
#ifndef CARREL_HTTP_DOOR_H
#define CARREL_HTTP_DOOR_H

#include "base/error.h"
#include "http/crowd.h"
#include "link/call.h"
#include "loop/loop.h"

enum { BODIES_MAX = 64 << 20 /* bytes of all bodies that are being collected */ };

struct facade;

struct door {
        struct loop *loop;
        struct link *link;
        const struct facade *const *facades; /* end with NULL */
        size_t body_bytes;                   /* collected now */
};

/* A listening socket, and the function that gets its connections. */
struct listener {
        struct loop_watch watch; /* must be first */
        struct loop_timer again;
        struct door *door;
        int fd;
        /* of this listener only: connections of one listener take no places of another */
        struct crowd crowd;
        void (*accepted)(struct listener *l, int take_fd);
};

/*
 * Starts to accept; the descriptor becomes non-blocking. If descriptors run out, the listener
 * pauses for a moment instead of spinning.
 */
int listener_open(struct listener *l, struct door *d, int fd,
                  void (*accepted)(struct listener *l, int take_fd), struct error *e);

/* Sends the error that says why the connection is not accepted, and closes it. */
void listener_turn_away(int take_fd, const struct error *e);

#endif
