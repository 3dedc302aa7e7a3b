/*
 * maker/spawner.h - the privileged process that begins boxes for a keeper: for each a maker and a box process.
 */
#ifndef CARREL_MAKER_SPAWNER_H
#define CARREL_MAKER_SPAWNER_H

#include <stddef.h>

#include "wire/message.h"

/* What carrel-init itself lends: where a plan lies, and the way of a maker that has one. */
struct spawner {
        unsigned char *bytes;  size_t room;            /* for a message; page-aligned */
        int (*make)(struct wire_message *m);           /* m: the plan's length, and its descriptors; the plan begins at `bytes` */
};

/* Serves the socket that is descriptor 3 until it closes. Gives an exit status; also returns, in a maker, with what make() says. */
int spawner_serve(const struct spawner *s);

#endif
