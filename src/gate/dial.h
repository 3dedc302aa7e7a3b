/*
 * gate/dial.h - a connection to a name: looked up, every address vetted, and the one that was vetted connected to.
 */
#ifndef CARREL_GATE_DIAL_H
#define CARREL_GATE_DIAL_H

#include "egress/admit.h"
#include "gate/gate.h"

enum { DIAL_ATTEMPTS_MAX = 4 /* at once */, DIAL_NEXT_MS = 250, DIAL_ONE_MS = 6000, DIAL_MS = 20000 };

struct dial;

struct dial_attempt { struct loop_watch watch; struct dial *dial; uint64_t until_ms; };

/* Embedded in what dials. */
struct dial {
        struct gate *gate;
        void *data;                            /* the caller's */
        uint16_t port;
        struct loop_watch *stands;             /* the caller's: watches the socket that stands, which is the caller's from then on */
        /* Once, from the loop or from dial_start(): DENIAL_NONE, or why nothing stands (DENIAL_UNRESOLVED, ADDRESS, UNREACHABLE, FAILED). It may free the dial. */
        void (*done)(struct dial *d, enum denial reason);
        struct resolver_wait wait;
        struct loop_timer timer;
        uint64_t until_ms;
        struct egress_address *candidates;     /* vetted; while connecting */
        size_t count, at;
        struct dial_attempt attempts[DIAL_ATTEMPTS_MAX];
        bool may_be_private;                   /* the operator named this name (private_names) */
        bool is_running;
};

/*
 * Begins; `host` canonical. `may_be_private`: its addresses may be private ones by the operator's word; loopback, metadata and the rest stay refused. `stands` says in
 * `events` and `ready` how the socket is to be watched. `asked`: whose question to the resolver it is.
 */
void dial_start(struct dial *d, struct gate *g, struct share *asked, const char *host, uint16_t port, bool may_be_private, struct loop_watch *stands,
                void (*done)(struct dial *d, enum denial reason), void *data);

/* done() will not come; nothing is left open. Accepts one that does not run, or was only zeroed. */
void dial_stop(struct dial *d);

#endif
