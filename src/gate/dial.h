/*
 * gate/dial.h - connects to a name: looks it up, checks every address, and connects to one that
 * passed.
 */
#ifndef CARREL_GATE_DIAL_H
#define CARREL_GATE_DIAL_H

#include "egress/admit.h"
#include "gate/gate.h"

enum {
        DIAL_ATTEMPTS_MAX = 4 /* at once */,
        DIAL_NEXT_MS = 250,
        DIAL_ONE_MS = 6000,
        DIAL_MS = 20000
};

struct dial;

struct wall;

struct dial_attempt {
        struct loop_watch watch;
        struct dial *dial;
        uint64_t until_ms;
        bool is_told;
};

/* Embedded in the struct that dials. */
struct dial {
        struct job job; /* its work, done in the turn of its wall */
        struct wall *wall;
        struct gate *gate;
        void *data; /* the caller's */
        uint16_t port;
        struct loop_watch *stands; /* the caller's: gets the connected socket, which the
                                    * caller then owns */
        /* Called once, in a turn of its wall or from dial_start(). DENIAL_NONE, or why there is no
         * connection (DENIAL_UNRESOLVED, ADDRESS, UNREACHABLE, FAILED). It may free the dial. */
        void (*done)(struct dial *d, enum denial reason);
        struct resolver_wait wait;
        struct loop_timer timer;
        uint64_t until_ms;
        struct egress_address *candidates;
        size_t count, at;
        bool is_found, is_vetted; /* candidates were found; only those that may be
                                   * dialled are left */
        bool is_held, is_wanted;  /* work is suspended; work is due once it resumes */
        struct dial_attempt attempts[DIAL_ATTEMPTS_MAX];
        enum admit_reach reach; /* granted by the host file for this name
                                 * (private_names, host_ports) */
        bool is_running;
};

/*
 * Starts a dial; `host` is canonical. `reach`: where the host file allows its addresses to lead;
 * metadata services and similar addresses stay refused. The caller sets `events` and `ready` of
 * `stands` before; the connected socket is watched with them. `w` is the wall that the dial
 * belongs to.
 */
void dial_start(struct dial *d, struct wall *w, const char *host, uint16_t port,
                enum admit_reach reach, struct loop_watch *stands,
                void (*done)(struct dial *d, enum denial reason), void *data);

/* Only looks up: done() reports whether an address may be dialled. No connection is made. */
void dial_look(struct dial *d, struct wall *w, const char *host, uint16_t port,
               enum admit_reach reach, void (*done)(struct dial *d, enum denial reason),
               void *data);

/* While it is held, no connection is made. False releases it. */
void dial_hold(struct dial *d, bool is_held);

/*
 * Cancels: done() is not called, and all descriptors are closed. Accepts a dial that does not run
 * or is zeroed.
 */
void dial_stop(struct dial *d);

#endif
