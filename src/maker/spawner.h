/*
 * maker/spawner.h - the privileged process that starts boxes for a keeper: one maker and one box
 * process for each.
 */
#ifndef CARREL_MAKER_SPAWNER_H
#define CARREL_MAKER_SPAWNER_H

#include <stddef.h>

#include "wire/message.h"

/* What carrel-init provides: the buffer for a plan, and the function that a maker runs with it. */
struct spawner {
        unsigned char *bytes;
        size_t room; /* for a message; page-aligned */
        /* m: the plan's length and descriptors; the plan is at the start of `bytes` */
        int (*make)(struct wire_message *m);
        int bridge; /* carrel-bridge, a program to execute; -1: no host file needs it */
};

/*
 * Serves the socket at descriptor 3 until the peer closes it. Returns an exit status. In a maker it
 * also returns, with the result of make().
 */
int spawner_serve(const struct spawner *s);

/*
 * Starts the one box of a keeper (BOX_BEGIN_ONE): `m` is the WIRE_BOX_BEGIN received at descriptor
 * 3, its body in s->bytes, its descriptors the plan's sources. The box gets descriptor 3; this
 * process becomes the maker. Returns an exit status once both are done.
 */
int spawner_one(const struct spawner *s, struct wire_message *m);

#endif
