/*
 * gate/denials.h - telling the box what was refused, and who asked.
 */
#ifndef CARREL_GATE_DENIALS_H
#define CARREL_GATE_DENIALS_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "egress/admit.h"
#include "loop/loop.h"
#include "wire/gate.h"

enum { DENIALS_RECENT = 32, DENIALS_SECOND_MS = 1000, DENIALS_AT_ONCE = 32 };

struct denial_recent { struct wire_wall_denied d; uint64_t until_ms; unsigned told; };

struct denials { struct denial_recent recent[DENIALS_RECENT]; size_t next; struct loop_timer timer; };

struct wall;

/* What is told; the rest is found out. */
struct denial_note {
        enum denial reason;
        const char *host, *other;              /* "" where there is none */
        uint16_t port;
        int is_udp;
        const struct sockaddr_in6 *client, *to;        /* the two ends, or NULL: nothing was connected; IPv4 as mapped */
};

/*
 * Counts it, finds out whose it was, and tells the link before whoever asked is answered. Of the same again within a second so many are told at once, and the
 * rest as one when that second is over.
 */
void denials_tell(struct wall *w, const struct denial_note *note);

/* Tells what still waits to be told. */
void denials_flush(struct wall *w);

#endif
