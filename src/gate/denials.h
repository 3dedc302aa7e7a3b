/*
 * gate/denials.h - telling the box what was refused, and who asked.
 */
#ifndef CARREL_GATE_DENIALS_H
#define CARREL_GATE_DENIALS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "egress/admit.h"
#include "loop/loop.h"
#include "wire/gate.h"

enum { DENIALS_PER_SECOND = 1000, DENIALS_BURST = 2000, DENIALS_REST_MS = 20 };

struct denials {
        uint64_t left, at_ms;          /* so many more may be refused just now, as of then */
        struct loop_timer rest;        /* until there may be more */
        uint32_t untold;               /* that found no room on the link: told as a number with the next */
        bool is_resting, is_link_full; /* each pauses the wall's turn */
};

struct wall;

/* What is told; the rest is found out. */
struct denial_note {
        enum denial reason;
        const char *host, *other;              /* "" where there is none */
        uint16_t port;
        int is_udp;
        const struct sockaddr_in6 *client, *to;        /* the two ends, or NULL: nothing was connected; IPv4 as mapped */
};

void denials_begin(struct wall *w);
void denials_end(struct wall *w);

/*
 * Counts it, finds out whose it was, and tells the link before whoever asked is answered. A wall to which more than DENIALS_PER_SECOND are refused, after a burst, rests: nothing of
 * it is done for a moment. It rests as well while its box does not take what it is told, so that each is told.
 */
void denials_tell(struct wall *w, const struct denial_note *note);

/* The link takes more. */
void denials_link_ready(struct wall *w);

#endif
