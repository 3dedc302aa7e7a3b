/*
 * gate/pipes.h - pipes for splice(2), lent for as long as bytes lie in them.
 */
#ifndef CARREL_GATE_PIPES_H
#define CARREL_GATE_PIPES_H

#include <stddef.h>

enum {
        PIPES_MAX = 1024,                      /* lent and spare, or fewer (max); whoever gets none copies a little at a time */
        PIPES_SPARE_MAX = 64,                  /* kept open while nobody has them */
        PIPES_LARGE_MAX = 128,                 /* that are made large: a user's pages for pipes are bounded (pipe(7)) */
        PIPE_LARGE = 1 << 18, PIPE_PLAIN = 1 << 16,
};

struct pipe { int in, out; size_t size; struct pipe *next; };  /* written to `in`, read from `out` */

struct pipes { struct pipe *spare; size_t max, count, spare_count, large_count; };

/* An empty pipe, or NULL: too many are lent, or there are no descriptors. */
struct pipe *pipes_take(struct pipes *p);

/* Gives one back; `is_empty` 0: bytes are left in it, and it is closed. Accepts NULL. */
void pipes_give(struct pipes *p, struct pipe *take_pipe, int is_empty);

void pipes_fini(struct pipes *p);

#endif
