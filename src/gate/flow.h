/*
 * gate/flow.h - bytes from one socket to another, one way: held ones first, then spliced, never read.
 */
#ifndef CARREL_GATE_FLOW_H
#define CARREL_GATE_FLOW_H

#include <stdbool.h>

#include "gate/judge.h"
#include "gate/pipes.h"

struct wall;

/* Bytes in our own memory: [at, judged) may go, [judged, len) may not yet. */
struct hold { char *bytes; size_t at, judged, len, room; };

struct flow {
        struct wall *wall;
        int from, to;                          /* borrowed */
        bool is_out;                           /* towards the network */
        bool from_ready, to_ready;             /* as of the last event (edge-triggered), until a call says otherwise */
        bool from_ends;                        /* the sender's end was announced: what lies there is all that comes */
        bool is_urgent;                        /* an urgent byte came once: splice(2) stands still before such, so all is copied from then on; the byte itself is left out */
        bool has_end, is_shut;                 /* no more comes; and that was passed on */
        bool is_last;                          /* the other way is over: both sockets are closed next, which says the end as well */
        struct hold hold;
        struct judge *judge;                   /* NULL: everything may pass */
        bool waits;                            /* the judge does, for the other direction */
        bool has_more;                         /* of what is held, the judge has not seen all */
        struct answers *answers;               /* of the other direction's judge, NULL: nobody wants to know where one ends */
        struct pipe *pipe;                     /* while bytes lie in it */
        size_t piped;
        enum denial reason;                    /* with FLOW_REFUSED */
        struct egress_host other;
};

enum flow_state {
        FLOW_WAITS,            /* for a socket */
        FLOW_AGAIN,            /* it could go on, and others should have a turn first */
        FLOW_LATER,            /* the wall's bandwidth is used up for now */
        FLOW_OVER,             /* ended, and all of it was passed on */
        FLOW_REFUSED,          /* by the judge, or by the cap on bytes */
        FLOW_BROKEN
};

/* Room for at least one more byte. False: JUDGE_HOLD_MAX bytes are held, its wall holds as much as it may, or no memory. */
bool hold_make_room(struct flow *f);
void held_fini(struct flow *f);

/* Other bytes in the place of what is held; none of them is judged. False: there is no memory for them, and nothing is held. */
bool held_replace(struct flow *f, char *take_bytes, size_t len, size_t room);

enum flow_state flow_pump(struct flow *f);

/* After FLOW_REFUSED: only what was judged before that still goes. FLOW_OVER: all of it went. */
enum flow_state flow_send_rest(struct flow *f);

/* Gives back pipe, memory and judge. */
void flow_fini(struct flow *f);

#endif
