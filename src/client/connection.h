/*
 * client/connection.h - calls to the keeper, one at a time. Only this room uses it.
 */
#ifndef CARREL_CLIENT_CONNECTION_H
#define CARREL_CLIENT_CONNECTION_H

#include <stddef.h>
#include <stdint.h>

#include "api/operation.h"
#include "base/error.h"
#include "carrel/carrel.h"
#include "wire/record.h"

struct carrel {
        int socket;                            /* -1: lost, and opened again by the next call */
        uint32_t serial;
        unsigned timeout_ms;                   /* 0: none */
        char *state;
        struct record_writer w;                /* the call being written */
        unsigned char *out, *in;               /* WIRE_BODY_MAX each */
        unsigned char *reply;  size_t reply_len, reply_room;   /* the record of the last answer */
};

/* A second connection to the same daemon. Errors: as carrel_open(). */
int connection_again(const struct carrel *c, struct carrel **ret, struct error *e);

/* Begins a call's record; the writer is used until connection_call(). */
struct record_writer *connection_begin(struct carrel *c);

/*
 * Sends the call and waits for its answer. `ret` is borrowed until the next call. `ret_fd` (may be NULL) gets the descriptor of an operation that
 * has one. A call that was not delivered is sent again over a new connection; one whose answer was lost too, where it may be repeated.
 * Errors: the daemon's own; ERROR_DAEMON_UNREACHABLE, _CONNECTION_LOST, _PROTOCOL, _INVALID_ARGUMENT (checked before it is sent).
 */
int connection_call(struct carrel *c, enum operation_code op, struct record *ret, int *ret_fd, struct error *e);

/*
 * The same in two steps, for an operation that only reads: sends the call, whose answer may take long; and takes the answer. connection_answer() does not wait. 1: the answer,
 * in `ret`; 0: not yet (poll c->socket). While the daemon is started again it waits for it, for 3 s at most, and sends the call once more.
 */
int connection_ask(struct carrel *c, enum operation_code op, struct error *e);
int connection_answer(struct carrel *c, struct record *ret, struct error *e);

#endif
