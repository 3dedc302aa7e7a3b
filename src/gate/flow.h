/*
 * gate/flow.h - passes bytes from one socket to another, one way: held bytes first, then splice(2)
 * without reading them.
 */
#ifndef CARREL_GATE_FLOW_H
#define CARREL_GATE_FLOW_H

#include <stdbool.h>

#include "gate/judge.h"
#include "gate/pipes.h"

struct taped;
struct wall;

/* Bytes in the gate's memory: [at, judged) may be sent, [judged, len) may not yet. */
struct held {
        char *bytes;
        size_t at, judged, len, room;
};

struct flow {
        struct wall *wall;
        int from, to;              /* borrowed */
        bool is_out;               /* towards the network */
        bool from_ready, to_ready; /* as of the last event (edge-triggered), until a
                                    * call returns EAGAIN */
        bool from_ends;            /* the sender announced its end: only bytes already
                                    * received follow */
        /* an urgent byte arrived once. splice(2) stalls in front of one, so all bytes are copied
         * from then on; the urgent byte is dropped */
        bool is_urgent;
        bool has_end, is_shut; /* the end was read; the end was passed on */
        bool is_last;          /* the other direction is over: both sockets are
                                * closed next, so no shutdown is needed */
        struct held hold;
        struct judge *judge;     /* NULL: all bytes may pass */
        bool waits;              /* the judge waits for the other direction */
        bool has_more;           /* the judge has not seen all held bytes */
        struct answers *answers; /* of the other direction's judge; NULL: the ends of
                                  * answers are not needed */
        struct pipe *pipe;       /* while it contains bytes */
        size_t piped;
        uint64_t passed; /* bytes that the other end was sent */
        /* bytes are copied, never spliced: they are recorded, or come from a record */
        bool copies;
        bool is_reset;       /* the sender ended it with an error */
        bool is_unsent;      /* so did the receiver, before it got all */
        struct taped *taped; /* where they are recorded, borrowed, or NULL */
        enum denial reason;  /* with FLOW_REFUSED */
        struct egress_host other;
};

enum flow_state {
        FLOW_WAITS,   /* for a socket */
        FLOW_AGAIN,   /* more could pass now; give other walls a turn first */
        FLOW_LATER,   /* the bandwidth of the wall is used up for now */
        FLOW_OVER,    /* ended, and all bytes were passed on */
        FLOW_REFUSED, /* by the judge, or by the cap on bytes */
        FLOW_BROKEN
};

/*
 * Makes room for at least 1 more byte. False: JUDGE_HOLD_MAX bytes are held, the wall reached its
 * share of memory, or no memory.
 */
bool held_make_room(struct flow *f);
void held_fini(struct flow *f);

/*
 * Replaces the held bytes; none of the new ones is judged. Takes the buffer. False: no memory, and
 * nothing is held.
 */
bool held_replace(struct flow *f, char *take_bytes, size_t len, size_t room);

enum flow_state flow_pump(struct flow *f);

/* After FLOW_REFUSED: sends only bytes that were judged before. FLOW_OVER: all of them are sent. */
enum flow_state flow_send_rest(struct flow *f);

/* Releases pipe, memory and judge. */
void flow_fini(struct flow *f);

#endif
