/*
 * gate/dial.h - a connection to a name: looked up, every address vetted, and the one that was vetted connected to.
 */
#ifndef CARREL_GATE_DIAL_H
#define CARREL_GATE_DIAL_H

#include "egress/admit.h"
#include "gate/gate.h"

enum { DIAL_ATTEMPTS_MAX = 4 /* at once */, DIAL_NEXT_MS = 250, DIAL_ONE_MS = 6000, DIAL_MS = 20000 };

struct dial;

struct wall;

struct dial_attempt { struct loop_watch watch; struct dial *dial; uint64_t until_ms; bool is_told; };

/* Embedded in what dials. */
struct dial {
        struct job job;                        /* what is done for it, in its wall's turn */
        struct wall *wall;
        struct gate *gate;
        void *data;                            /* the caller's */
        uint16_t port;
        struct loop_watch *stands;             /* the caller's: watches the socket that stands, which is the caller's from then on */
        /* Once, in a turn of its wall or from dial_start(): DENIAL_NONE, or why nothing stands (DENIAL_UNRESOLVED, ADDRESS, UNREACHABLE, FAILED). It may free the dial. */
        void (*done)(struct dial *d, enum denial reason);
        struct resolver_wait wait;
        struct loop_timer timer;
        uint64_t until_ms;
        struct egress_address *candidates;
        size_t count, at;
        bool is_found, is_vetted;              /* the candidates: are there, and only those are left that may be dialled */
        bool is_held, is_wanted;               /* nothing is done; and something is to be */
        struct dial_attempt attempts[DIAL_ATTEMPTS_MAX];
        enum admit_reach reach;                /* by the operator's word for this name (private_names, host_ports) */
        bool is_running;
};

/*
 * Begins; `host` canonical. `reach`: where its addresses may lead by the operator's word; metadata services and the rest stay refused. `stands` says in
 * `events` and `ready` how the socket is to be watched. Whose it is, is the wall's.
 */
void dial_start(struct dial *d, struct wall *w, const char *host, uint16_t port, enum admit_reach reach, struct loop_watch *stands,
                void (*done)(struct dial *d, enum denial reason), void *data);

/* Only looks: done() says whether there is an address that may be dialled, and nobody is called. */
void dial_look(struct dial *d, struct wall *w, const char *host, uint16_t port, enum admit_reach reach, void (*done)(struct dial *d, enum denial reason), void *data);

/* Nobody is called until it is let go on. */
void dial_hold(struct dial *d, bool is_held);

/* done() will not come; nothing is left open. Accepts one that does not run, or was only zeroed. */
void dial_stop(struct dial *d);

#endif
