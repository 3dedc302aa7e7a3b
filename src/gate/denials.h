/*
 * gate/denials.h - reports to the box what was refused, and to which exec.
 */
#ifndef CARREL_GATE_DENIALS_H
#define CARREL_GATE_DENIALS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "gate/wall.h"

enum { DENIALS_PER_SECOND = 1000, DENIALS_BURST = 2000, DENIALS_REST_MS = 20 };

/* What the caller knows of a refusal; this module finds the rest. */
struct denial_note {
        enum denial reason;
        const char *host, *other; /* "" if there is no such name */
        uint16_t port;
        int is_udp;
        /* both ends, IPv4 as mapped; NULL: not connected */
        const struct sockaddr_in6 *client, *to;
};

void denials_begin(struct wall *w);
void denials_end(struct wall *w);

/*
 * Counts a refusal, finds the exec that caused it, and reports it on the link before the client is
 * answered.
 *
 * A wall with more than DENIALS_PER_SECOND refusals, after a burst, rests: its work pauses for a
 * moment. It also rests while its box does not read, so that every refusal is reported.
 */
void denials_tell(struct wall *w, const struct denial_note *note);

/*
 * True: the box is behind with reading, and the wall rests until it has read. Call it before work
 * that may give a name, which the box must know first, and do that work later.
 */
bool denials_wait_for_box(struct wall *w);

/* The link can take more messages. */
void denials_link_ready(struct wall *w);

#endif
