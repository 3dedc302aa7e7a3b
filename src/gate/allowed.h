/*
 * gate/allowed.h - reports to the box which connections were allowed, and what passed over them.
 *
 *     unasked --WIRE_WALL_ALLOWED before BEGIN: the box wants reports--> reports
 *
 * The first connection to a destination is reported at once. Further ones to it within
 * ALLOWED_FOLD_MS are one report with their number: no number of connections hides another
 * destination, and a wall sends at most 2 * (ALLOWED_PLACES + 1) reports in that time.
 */
#ifndef CARREL_GATE_ALLOWED_H
#define CARREL_GATE_ALLOWED_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "wire/gate.h"

enum { ALLOWED_PLACES = 32, ALLOWED_FOLD_MS = 1000, ALLOWED_KINDS = 2 };

struct allowed_place;

struct allowed {
        struct loop *loop;             /* borrowed, as the next two */
        const struct loop_watch *link; /* to the box; fd -1: it is closed */
        const int *diag;               /* of the wall's namespace; -1: none */
        bool is_asked;
        struct loop_timer fold;
        /* sums, without a host: of connections whose destination found no place */
        struct wire_wall_allowed others[ALLOWED_KINDS];
        struct allowed_place *places; /* ALLOWED_PLACES; NULL until the first connection */
};

/* Everything is borrowed. */
struct allowed_connection {
        const char *host; /* canonical */
        uint16_t port;
        int server;                           /* the gate's own socket, -1: closed */
        const struct sockaddr_in6 *from, *to; /* both ends inside the wall */
};

void allowed_begin(struct allowed *a, struct loop *loop, const struct loop_watch *link,
                   const int *diag);

/* The box wants reports. 0 or -EPROTO. */
int allowed_hear(struct allowed *a, size_t len);

/* Bytes begin to pass. Never blocks: what the link does not take is counted. */
void allowed_opened(struct allowed *a, const struct allowed_connection *c);

/* No more bytes pass: so many passed, in so many milliseconds. */
void allowed_closed(struct allowed *a, const struct allowed_connection *c, uint64_t bytes_out,
                    uint64_t bytes_in, uint64_t duration_ms);

/* Reports what is still counted. */
void allowed_end(struct allowed *a);

#endif
