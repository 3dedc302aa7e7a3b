/*
 * link/keeper.h - the socket to the keeper: calls, answers in any order, events, for link/call.c.
 *
 * The struct of a call is embedded in the caller's state. The link owns it until its last reply or
 * keeper_cancel(). The loop calls the callbacks, never keeper_call(). If the keeper closes the
 * link, every outstanding call gets ERROR_UNAVAILABLE; then `gone` is called once.
 */
#ifndef CARREL_LINK_KEEPER_H
#define CARREL_LINK_KEEPER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "api/operation.h"
#include "base/error.h"
#include "loop/loop.h"
#include "wire/call.h"

/* The reason for a call that was sent and will get no answer. */
#define KEEPER_GONE "gone"

struct keeper;

struct keeper_reply {
        const struct error *error; /* NULL: success */
        struct record fields;      /* the results; valid during the callback */
        /* take one by setting it to -1; the others are closed after the callback */
        int *fds;
        size_t fd_count;
        /* 0: further items follow (REPLY_MORE); an error is always the last */
        int is_last;
};

struct keeper_call {
        void (*reply)(struct keeper_call *c, const struct keeper_reply *r);
        /* for operations with OPERATION_EVENTS; may be called after the reply */
        void (*event)(struct keeper_call *c, const struct record *fields);
        /* private to the link */
        struct keeper *keeper; /* NULL if not outstanding */
        uint32_t serial;
        uint16_t op;
        struct keeper_call *next;
};

/* Takes the descriptor of a connected seqpacket socket. Errors: ERROR_NO_MEMORY, ERROR_INTERNAL. */
int keeper_open(struct loop *l, int take_fd, void (*gone)(void *data), void *data,
                struct keeper **ret, struct error *e);
void keeper_close(struct keeper *k);

/*
 * Sends a call with the record written so far. `c` is zeroed except for its callbacks. If the call
 * is queued, the record is copied. Errors: ERROR_REQUEST_TOO_LARGE (the record did not fit),
 * ERROR_UNAVAILABLE, ERROR_NO_MEMORY; after an error no callback is called.
 */
int keeper_call(struct keeper *k, struct keeper_call *c, enum operation_code op,
                const struct record_writer *w, struct error *e);

/*
 * Prevents further callbacks for the call, and informs the keeper if it may still be waiting.
 * Accepts a call that is not outstanding. Descriptors of a late reply are closed.
 */
void keeper_cancel(struct keeper_call *c);

#endif
