#ifndef RING_H
#define RING_H

#include <stdbool.h>
#include <stddef.h>

/* A queue of bytes with a fixed room, which wraps around. */
struct ring {
        unsigned char bytes[8];
        size_t first, count;
};

bool ring_put(struct ring *r, unsigned char byte);  /* false: it is full */
bool ring_take(struct ring *r, unsigned char *ret); /* false: it is empty */

#endif
