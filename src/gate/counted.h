/*
 * gate/counted.h - the byte counters of a wall. The box keeps them for the gate that comes after
 * this one.
 *
 *     silent --WIRE_WALL_COUNTED before BEGIN: the box keeps them--> settled
 *     settled --bytes pass--> ahead --no bytes for COUNTED_SETTLE_MS--> settled
 */
#ifndef CARREL_GATE_COUNTED_H
#define CARREL_GATE_COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "wire/gate.h"

/* The box keeps a number that is ahead of the truth by 1/64 of what passed, within these bounds
 * (bytes), and never by more than 1/64 of a cap. */
enum {
        COUNTED_AHEAD_PART = 64,
        COUNTED_AHEAD_LEAST = 1 << 20,
        COUNTED_AHEAD_MOST = 16 << 20,
        COUNTED_SETTLE_MS = 50
};

struct counted {
        uint64_t out, in;              /* bytes that passed */
        struct loop *loop;             /* borrowed, as the next two */
        const struct loop_watch *link; /* to the box; fd -1: it is closed */
        const struct wire_gate_caps *caps;
        bool is_kept;               /* by its box; an older box does not, and is sent no
                                     * counters */
        uint64_t said_out, said_in; /* last values sent to the box */
        uint64_t seen;              /* sum of both at the last look */
        struct loop_timer settle;
};

/* From 0, for a box that keeps nothing yet. `caps` may change later. */
void counted_begin(struct counted *c, struct loop *loop, const struct loop_watch *link,
                   const struct wire_gate_caps *caps);

/* Takes the counters that the box kept. 0 or -EPROTO. */
int counted_hear(struct counted *c, const void *body, size_t len);

/*
 * Counts bytes that passed. While bytes pass, the box is sent a value that is ahead of them, so one
 * message covers many bytes. If the gate is killed, the kept count is therefore never too low.
 */
void counted_add(struct counted *c, bool is_out, size_t len);

/* Sends the true values. No bytes may pass afterwards. */
void counted_end(struct counted *c);

#endif
