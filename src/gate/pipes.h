/*
 * gate/pipes.h - pipes for splice(2), each lent while it contains bytes.
 */
#ifndef CARREL_GATE_PIPES_H
#define CARREL_GATE_PIPES_H

#include <stddef.h>

enum {
        PIPES_MAX = 1024,      /* lent and spare, at most `max`; without a pipe, a
                                * flow copies small pieces */
        PIPES_SPARE_MAX = 64,  /* unused pipes that are kept open */
        PIPES_LARGE_MAX = 128, /* enlarged pipes: a user's pages for pipes are
                                * limited (pipe(7)) */
        PIPE_LARGE = 1 << 18,
        PIPE_PLAIN = 1 << 16,
};

struct pipe {
        int in, out;
        size_t size;
        struct pipe *next;
}; /* written to `in`, read from `out` */

struct pipes {
        struct pipe *spare;
        size_t max, count, spare_count, large_count;
};

/* An empty pipe. NULL: the maximum is lent, or no descriptors are left. */
struct pipe *pipes_take(struct pipes *p);

/* Returns a pipe. `is_empty` 0: it still contains bytes, and is closed. Accepts NULL. */
void pipes_give(struct pipes *p, struct pipe *take_pipe, int is_empty);

void pipes_fini(struct pipes *p);

#endif
