/*
 * link/call.h - one asynchronous call to the keeper, from link_call_begin() to its one end: every
 * front of the daemon (rest, mcp, ingress) makes its calls with it. Independent of HTTP.
 *
 *   IDLE    --begin-----------------> SENT, or PARKED while the link is away
 *   SENT    --last reply------------> IDLE; ANSWERED if `event` or `given` is set; OPEN if the
 *                                     reply carries the channel of an exec
 *   SENT    --an error--------------> IDLE                               (refused)
 *   OPEN    --STARTED---------------> RUNNING                            (started)
 *   OPEN    --FAILED----------------> IDLE                               (failed)
 *   RUNNING --output, END-----------> IDLE                               (output ..., ended)
 *   any     --end, leave------------> IDLE                               (no callback)
 *
 * The link is lost: SENT becomes PARKED if the call may be repeated (below), else IDLE (refused);
 * ANSWERED becomes IDLE (refused); OPEN and RUNNING stay, because the box owns the other end of
 * the channel. The channel is lost: OPEN is SENT again if the call may be repeated, else IDLE
 * (lost); RUNNING becomes IDLE (cut, or ended with OUTCOME_LOST). PARKED becomes SENT when the link
 * is back, IDLE (refused) after LINK_PARKED_MS.
 *
 * A call may be repeated if its link has LINK_RETURNS and a second execution has no further effect:
 * the operation's row says OPERATION_READ or OPERATION_IDEMPOTENT, or the record has a key. Calls
 * over such a link get a generated key where the operation takes one. After the first item of a
 * list no call is repeated: no item is passed on twice.
 *
 * L1  A call has one last callback: a reply with is_last (without channel, event and given),
 *     refused, failed, ended, cut or lost. Before it is called the call is IDLE: the callback may
 *     begin the next call in the same struct.
 * L2  After link_call_end() and link_call_leave() no callback is called. begin, end, leave, send,
 *     pause and resume call none either.
 * L3  A descriptor of a reply has one owner: the channel belongs to the call until it is IDLE, any
 *     other to the function `given`; what neither takes is closed.
 * L4  A link has at most LINK_CALLS_MAX calls that are not IDLE. How many of them one client has is
 *     limited by its connections (http/crowd.h) and requests (mcp/mcp.h): each makes one at a time.
 */
#ifndef CARREL_LINK_CALL_H
#define CARREL_LINK_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/operation.h"
#include "api/peer.h"
#include "base/error.h"
#include "link/follow.h"
#include "link/keeper.h"
#include "loop/loop.h"
#include "wire/channel.h"
#include "wire/message.h"
#include "wire/record.h"

struct link_call;

/* The callbacks of a call. NULL: not used. Records and bytes are valid during the callback. */
struct link_call_ops {
        /* results; is_last 0: further items follow. With a channel: the channel is open now. */
        void (*reply)(struct link_call *c, const struct record *fields, bool is_last);
        void (*refused)(struct link_call *c, const struct error *e);
        /* -- the channel of an exec -- */
        void (*started)(struct link_call *c, const struct channel_started *s);
        void (*failed)(struct link_call *c, const struct wire_exec_failed *f);
        /* stream is 1 or 2 */
        void (*output)(struct link_call *c, int stream, const void *bytes, size_t len,
                       uint64_t offset);
        void (*ended)(struct link_call *c, const struct channel_end *end);
        /* the box closed the channel before the command started */
        void (*lost)(struct link_call *c);
        /* the same after it started. `end` has OUTCOME_LOST and what was received; NULL: ended() */
        void (*cut)(struct link_call *c, const struct channel_end *end);
        /* all received bytes were passed on */
        void (*quiet)(struct link_call *c);
        /* how many bytes to read at once; NULL: as many as are there */
        size_t (*room)(struct link_call *c);
        /* the queued frames were sent, after link_call_pending() was not 0 */
        void (*writable)(struct link_call *c);
        /*
         * The reply of an operation with a channel has none: `unopened` gets it, and the call is
         * IDLE. NULL: refused with ERROR_PROTOCOL.
         */
        void (*unopened)(struct link_call *c, const struct record *fields);
        /* -- calls that last after their reply -- */
        void (*event)(struct link_call *c, const struct record *fields);
        /* a reply with a descriptor that is no channel, instead of `reply`; -1: it has none */
        void (*given)(struct link_call *c, const struct record *fields, int take_fd);
};

enum link_flag {
        LINK_SAYS_WHO = 1u << 0, /* a door: each call has the identity of its caller */
        LINK_RETURNS = 1u << 1,  /* link_connect() is called again after the link was lost */
};

enum {
        LINK_CALLS_MAX = 4096,
        LINK_PARKED_MS = 3000, /* as libcarrel reconnects */
        LINK_REPEATS_MAX = 3,  /* because a channel was lost before its command started */
};

/* The link to the keeper. */
struct link {
        struct loop *loop;
        struct keeper *keeper;    /* NULL while disconnected */
        struct link_call *parked; /* in order */
        unsigned count;           /* calls that are not IDLE */
        unsigned flags;           /* enum link_flag */
        void (*gone)(void *data);
        void *data;
};

enum link_call_state {
        LINK_CALL_IDLE,
        LINK_CALL_PARKED,
        LINK_CALL_SENT,
        LINK_CALL_ANSWERED,
        LINK_CALL_OPEN,
        LINK_CALL_RUNNING,
};

/* Zeroed: IDLE. Embedded in the caller's state, which lives until the callback has returned. */
struct link_call {
        const struct link_call_ops *ops; /* set by the caller, borrowed until the call is IDLE */
        /* private to the link */
        struct keeper_call call;
        struct follow follow;
        struct loop_timer patience; /* PARKED */
        struct link *link;
        struct link_call *next;
        enum link_call_state state;
        enum operation_code op;
        unsigned char *bytes; /* a copy of the record, if it may be sent again */
        size_t len;
        bool was_sent, has_items; /* items were passed on */
        unsigned repeats;
        uint64_t seen[2], gaps; /* end of each stream as received; bytes before it that were not */
};

/* `gone` is called when the keeper has closed the link, after the calls were told. */
void link_init(struct link *l, struct loop *loop, unsigned flags, void (*gone)(void *data),
               void *data);

/*
 * Takes a connected seqpacket socket, in place of the one that was lost, and sends what is PARKED.
 * Not within a callback. Errors: ERROR_NO_MEMORY, ERROR_INTERNAL; the descriptor is then closed.
 */
int link_connect(struct link *l, int take_fd, struct error *e);

/* Closes the socket: calls wait for the next one, if the link has LINK_RETURNS. */
void link_close(struct link *l);

/*
 * Begins a call with the record written so far; `c` has its ops, and ends its call if it has one.
 * `who` NULL: the call has no identity of its own. Errors: ERROR_REQUEST_TOO_LARGE (the record did
 * not fit), ERROR_UNAVAILABLE, ERROR_NO_MEMORY; the call is then IDLE.
 */
int link_call_begin(struct link *l, struct link_call *c, const struct api_peer *who,
                    enum operation_code op, struct record_writer *w, struct error *e);

/*
 * Ends the call. A foreground exec is killed by that; link_call_leave() lets it run. Both accept an
 * IDLE call.
 */
void link_call_end(struct link_call *c);
void link_call_leave(struct link_call *c);

/*
 * Queues bytes to the box (CHANNEL_STDIN, _STDIN_END, _SIGNAL, _RESIZE). An exec that has ended
 * takes none; the last callback still follows. Above FOLLOW_BURST in link_call_pending(), add no
 * more. Does nothing without a channel.
 */
void link_call_send(struct link_call *c, uint32_t kind, const void *bytes, size_t len);
size_t link_call_pending(const struct link_call *c);

/* Stops `output` until resume, apart from FOLLOW_BURST bytes. Accepts a call without channel. */
void link_call_pause(struct link_call *c);
void link_call_resume(struct link_call *c);

#endif
