/*
 * relay/relay.h - plays pid 1 towards the box of a sandbox that is not made of our own namespaces.
 *
 * The box talks to it over a control socket, with messages and descriptors (wire/message.h), as to
 * any pid 1. The relay holds these descriptors and talks to the guest program inside over one byte
 * stream (wire/stream.h). What comes from there is foreign: it is passed on only as far as the
 * table of wire/stream.c and the list of what is expected allow.
 */
#ifndef CARREL_RELAY_RELAY_H
#define CARREL_RELAY_RELAY_H

#include <stddef.h>
#include <stdint.h>

struct relay_start {
        int control;      /* to the box */
        int stream;       /* to the guest */
        int alive;        /* a pipe that ends with what the guest cannot do without; -1: none */
        const void *plan; /* the packed GUEST steps, which the guest does first */
        size_t plan_len;
        uint32_t first_step; /* their number in the whole plan */
        /* sockets in the sandbox's network namespace, which this process shares */
        int names, diag;  /* of guest/names.h; -1: none */
        const int *stock; /* of guest/listen.h */
        size_t stock_count;
        uint64_t ready_ms;  /* how long the guest may take until it is ready; 0: without limit */
        unsigned is_living; /* the box is told when every step is done */
};

/*
 * Serves until the box or the guest is gone. All descriptors are borrowed. Returns 0, or -errno:
 * the guest broke the protocol, or spoke another version; -ECONNRESET: it ended before it was ready
 * and said nothing; -ETIMEDOUT: it was not ready in time.
 */
int relay_serve(const struct relay_start *start);

#endif
