/*
 * gate/quota.h - the bytes that a wall may send, where its owner has a limit for a day. The keeper
 * counts; the gate has a part of what is left, and sends no byte beyond it.
 *
 *     empty --bytes to send: asks the keeper--> asked --a part--> filled --all sent--> empty
 *                                                     --nothing is left--> closed --its time-->
 * empty filled --nothing was sent for a second, or the day is over: gives the rest back--> empty
 *
 * If the gate is killed, its parts stay counted: at most one part of each wall.
 */
#ifndef CARREL_GATE_QUOTA_H
#define CARREL_GATE_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/admit.h"
#include "loop/loop.h"
#include "wire/gate.h"

enum { QUOTA_IDLE_MS = 1000 };

struct quota {
        bool is_needed; /* false: the wall has no such limit */
        bool is_asked, is_closed;
        enum denial reason;      /* why it is closed */
        uint32_t number;         /* of the part */
        uint64_t left, until_ms; /* of the part; of both: until when */
        uint64_t seen;           /* what was left at the last look */
        struct loop *loop;       /* borrowed */
        struct loop_timer idle;
        /* sends it to the keeper, which knows the wall */
        void (*say)(struct quota *q, const struct wire_gate_quota_ask *ask);
};

void quota_begin(struct quota *q, struct loop *loop,
                 void (*say)(struct quota *q, const struct wire_gate_quota_ask *ask));

/* The wall got a policy, with or without such a limit. One that is closed asks again. */
void quota_need(struct quota *q, bool is_needed);

/* How many of `want` bytes may be sent now. 0: none; it asks the keeper, unless it is closed. */
size_t quota_room(struct quota *q, size_t want);

/* Is the limit reached, so that no connection stays? q->reason says why. */
bool quota_is_closed(const struct quota *q);

/* Bytes were sent: no more than quota_room() said. */
void quota_take(struct quota *q, size_t len);

/* The keeper's answer. 0, or -EPROTO: it was not asked. */
int quota_hear(struct quota *q, const struct wire_gate_quota *answer);

/* Gives the rest back. A wall with such a limit sends nothing afterwards. */
void quota_end(struct quota *q);

#endif
