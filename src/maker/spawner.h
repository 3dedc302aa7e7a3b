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
};

/*
 * Serves the socket at descriptor 3 until the peer closes it. Returns an exit status. In a maker it
 * also returns, with the result of make().
 */
int spawner_serve(const struct spawner *s);

#endif
