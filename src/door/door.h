/*
 * door/door.h - the program's one state: its loop, its link, and how many it serves.
 */
#ifndef CARREL_DOOR_DOOR_H
#define CARREL_DOOR_DOOR_H

#include "base/error.h"
#include "door/crowd.h"
#include "door/keeper.h"
#include "loop/loop.h"

enum { BODIES_MAX = 64 << 20 /* bytes of all bodies that are being collected */ };

struct door {
        struct loop *loop;
        struct keeper *keeper;
        size_t body_bytes;             /* collected at the moment */
};

/* A listening socket and what is done with those who come. */
struct listener {
        struct loop_watch watch;       /* first */
        struct loop_timer again;
        struct door *door;
        int fd;
        struct crowd crowd;            /* of its own: one listener's keeps nobody from another */
        void (*accepted)(struct listener *l, int take_fd);
};

/* Begins to accept; the descriptor becomes non-blocking. Where descriptors run out it rests for a moment instead of spinning. */
int listener_open(struct listener *l, struct door *d, int fd, void (*accepted)(struct listener *l, int take_fd), struct error *e);

/* Says why there is no place for who has come, and closes. */
void listener_turn_away(int take_fd, const struct error *e);

#endif
