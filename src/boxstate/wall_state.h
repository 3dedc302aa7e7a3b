/*
 * boxstate/wall_state.h - what of a wall outlives its gate: sockets, names, listeners, and what was
 * refused.
 *
 * Kept by the box. A gate
 * can be killed at any moment: what goes to the wall waits in the queues of the sockets held here,
 * and a new gate receives everything again. Needs nothing but libc; answers negative errno values.
 *
 *     empty --wall_state_take(WIRE_WALL)--> held --wall_state_link()--> linked --the gate is gone:
 * wall_state_hear() < 0--> held
 */
#ifndef CARREL_BOXSTATE_WALL_STATE_H
#define CARREL_BOXSTATE_WALL_STATE_H

#include <stdbool.h>

#include "boxstate/refusals.h"

enum {
        WALL_STATE_DENIALS_FIRST = NUMBER_REFUSALS_FIRST,
        WALL_STATE_DENIALS_LAST = NUMBER_REFUSALS_LAST
};
enum {
        WALL_STATE_NAMES_MAX = 8192, /* in use, and retired ones that must not be given out yet */
        WALL_STATE_PAIRS_MAX = 64,   /* listeners on ports from 1024 on, two sockets each */
        WALL_STATE_WAITING_MAX = 32, /* of those, asked for and not answered */
        WALL_STATE_DENIALS_MAX = WALL_STATE_DENIALS_FIRST + WALL_STATE_DENIALS_LAST,
        WALL_STATE_LISTENERS_MAX = WALL_PORTS_MAX + 2 * WALL_STATE_PAIRS_MAX,
        WALL_STATE_FDS_MAX = WALL_SOCKETS_MAX + 2 * WALL_STATE_PAIRS_MAX
};
_Static_assert(WALL_STATE_FDS_MAX + 1 <= WIRE_FDS_MAX, "a wall and its link travel in one message");

struct wall_state_name {
        uint32_t index, is_retired;
        char *host;
};
struct wall_state_pair {
        uint32_t index;
        uint16_t port;
        int fds[2];
}; /* index 0: one socket for all names, fds[1] is -1 */
struct wall_state_waiting {
        uint32_t number /* of ours; 0: free */, request /* of the gate's */, index;
        uint16_t port;
        bool is_told; /* its gate is still there */
};
struct wall_state_denial {
        uint64_t number /* from 1 on; 0: none */;
        uint32_t exec;
        uint64_t version /* of `refusals`, when it was counted last */;
        struct wire_wall_denied d;
};

struct wall_state {
        int link; /* our end, -1: no gate is linked */
        int sockets[WALL_SOCKETS_MAX];
        size_t socket_count; /* 0: there is no wall */
        uint16_t ports[WALL_PORTS_MAX];
        bool is_routed; /* what is asked for later listens at every address, so names share it */
        uint32_t stock; /* routed: so many such listeners there can be */
        struct wall_state_pair pairs[WALL_STATE_PAIRS_MAX];
        size_t pair_count;
        struct wall_state_name *names;
        size_t name_count, name_room;
        size_t told; /* of the names; name_count and is_begun: the gate knows all */
        /* the counters were sent to it; reports of connections were asked for; everything was
         * sent */
        bool is_counted, is_asked, is_begun;
        struct wire_wall_counted counted; /* the bytes that passed, over all gates */
        struct wall_state_waiting waiting[WALL_STATE_WAITING_MAX];
        uint32_t last_number;
        struct refusals refusals; /* what was refused, by exec, and how many times in all */
        struct wall_state_denial denials[WALL_STATE_DENIALS_MAX]; /* different things: the first,
                                                         and of the others the last */
        uint64_t denied; /* so many numbers were given so far */
        /* Asks pid 1 (WIRE_WALL_LISTEN); 0 or -errno. */
        int (*ask)(void *data, const struct wire_wall_listen *wanted);
        /* The exec that was refused this: by its group (cgroup v2 id, 0: not known) and the moment;
         * 0: not known. NULL: never known. */
        uint32_t (*find_exec)(void *data, const struct wire_wall_denied *d);
        /* Connections that the gate allowed; the name is plain text. NULL: not asked for. */
        void (*allowed)(void *data, const struct wire_wall_allowed *a);
        void *data;
};

/* `h` may hold anything. Ended with wall_state_fini(). */
void wall_state_init(struct wall_state *h,
                     int (*ask)(void *data, const struct wire_wall_listen *wanted),
                     uint32_t (*find_exec)(void *data, const struct wire_wall_denied *d),
                     void *data);

/* Takes the sockets of a WIRE_WALL (they are -1 in `m` then). 0 or -EPROTO. */
int wall_state_take(struct wall_state *h, struct wire_message *m, const void *body);

/*
 * A new link; an old one is closed. `fds` becomes the gate's end (the caller's to close) and then
 * all sockets (borrowed), `listeners` what each beyond WALL_FIXED is: the descriptors and the tail
 * of WIRE_GATE_ADD. 0 or -errno, -ENOENT without a wall.
 */
int wall_state_link(struct wall_state *h, int fds[WALL_STATE_FDS_MAX + 1], size_t *ret_fd_count,
                    struct wall_listener listeners[WALL_STATE_LISTENERS_MAX],
                    size_t *ret_listener_count);

/* Events to wait for on h->link: POLLIN, and POLLOUT while names wait to be sent. */
short wall_state_events(const struct wall_state *h);

/* The link is readable or writable: takes in what the gate says, tells it what it does not know
 * yet. -1: the gate is gone, and h->link is -1. */
int wall_state_hear(struct wall_state *h);

/* Something was refused, by the gate or, without one, by pid 1. False: `d` is malformed. What the
 * payload sent as a name is made plain text. */
bool wall_state_denied(struct wall_state *h, struct wire_wall_denied *d);

/* pid 1 answered; takes the message's descriptors. */
void wall_state_listened(struct wall_state *h, struct wire_message *m,
                         const struct wire_wall_listened *answer);

/* The refusal with this number; NULL: it does not exist, or is no longer kept. */
struct wall_state_denial *wall_state_denial(struct wall_state *h, uint64_t number);

/* The number of the oldest that is kept after `number`; 0: none is. From 0 on it leads through all
 * of them. */
uint64_t wall_state_denial_after(const struct wall_state *h, uint64_t number);

/* Replaces what is no printable character, so that a name drives no terminal. */
void wall_state_make_plain(char *text);

/* The address that was connected to, as text; "" where there was none. */
enum { WALL_STATE_ADDRESS_ROOM = 46 };
const char *wall_state_allowed_address(const struct wire_wall_allowed *a,
                                       char ret[WALL_STATE_ADDRESS_ROOM]);
const char *wall_state_address_text(const struct wire_wall_denied *d,
                                    char ret[WALL_STATE_ADDRESS_ROOM]);

/* How many ports more a routed wall can listen to. */
uint32_t wall_state_stock(const struct wall_state *h);

void wall_state_unlink(struct wall_state *h);
void wall_state_fini(struct wall_state *h);

#endif
