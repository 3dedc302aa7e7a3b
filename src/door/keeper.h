/*
 * door/keeper.h - the link to the keeper: calls, answers in any order, events. Independent of HTTP.
 *
 * A call's struct is embedded in the state of whoever calls, and is the link's until its last reply or keeper_cancel(). Callbacks
 * come from the loop, never from within keeper_call(). When the keeper goes, every outstanding call is answered with
 * ERROR_UNAVAILABLE, then `gone` is told once.
 */
#ifndef CARREL_DOOR_KEEPER_H
#define CARREL_DOOR_KEEPER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "api/operation.h"
#include "api/peer.h"
#include "base/error.h"
#include "loop/loop.h"
#include "wire/call.h"

#define KEEPER_GONE "gone"               /* the reason of a call that was sent, and whose answer will never come */

struct keeper;

struct keeper_reply {
        const struct error *error;     /* NULL: it went well */
        struct record fields;          /* the results; valid during the callback */
        int *fds;                      /* take one by setting it to -1; the rest is closed after the callback */
        size_t fd_count;
        int is_last;                   /* 0: further items follow (REPLY_MORE); an error is always the last */
};

struct keeper_call {
        void (*reply)(struct keeper_call *c, const struct keeper_reply *r);
        void (*event)(struct keeper_call *c, const struct record *fields);       /* for operations with OPERATION_EVENTS; stays after the reply */
        /* the link's own */
        struct keeper *keeper;         /* NULL while not outstanding */
        uint32_t serial;
        uint16_t op;
        struct keeper_call *next;
};

/* Takes the descriptor of a connected seqpacket socket. Errors: ERROR_NO_MEMORY, ERROR_INTERNAL. */
int keeper_open(struct loop *l, int take_fd, void (*gone)(void *data), void *data, struct keeper **ret, struct error *e);
void keeper_close(struct keeper *k);

/* Adds who asks to a record under construction: FIELD_UID or FIELD_TOKEN. */
void keeper_identify(struct record_writer *w, const struct api_peer *peer);

/*
 * Sends a call with the record written so far; `c` is zeroed but for its callbacks. The record is copied if it has to wait.
 * Errors: ERROR_REQUEST_TOO_LARGE (the record did not fit), ERROR_UNAVAILABLE, ERROR_NO_MEMORY; then no callback comes.
 */
int keeper_call(struct keeper *k, struct keeper_call *c, enum operation_code op, const struct record_writer *w, struct error *e);

/* No further callback for it; tells the keeper where it may still wait. Accepts one that is not outstanding. Descriptors of a late reply are closed. */
void keeper_cancel(struct keeper_call *c);

#endif
