/*
 * gate/counted.h - the bytes that passed a wall, as its box keeps them for the gate after this one.
 *
 *     silent --WIRE_WALL_COUNTED before BEGIN: the box keeps them--> settled --bytes pass--> ahead --none passed for a moment--> settled
 */
#ifndef CARREL_GATE_COUNTED_H
#define CARREL_GATE_COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"

enum { COUNTED_AHEAD = 1 << 20, COUNTED_AHEAD_PART = 64 /* of a cap, where that is less */, COUNTED_SETTLE_MS = 50 };

struct counted {
        bool is_kept;                  /* by its box; one of before does not, and is told nothing */
        uint64_t said_out, said_in;    /* that the box was told */
        uint64_t seen;                 /* of both, when it was last looked whether they rest */
        struct loop_timer settle;
};

struct wall;

/* What the box kept. 0 or -EPROTO. */
int counted_hear(struct wall *w, const void *body, size_t len);

/* More has passed. While it goes on the box is told more than that, so that no byte is told for each: a gate that is killed leaves no count behind that is too low. */
void counted_more(struct wall *w);

/* Tells what it is in truth; nothing passes any more. */
void counted_end(struct wall *w);

#endif
