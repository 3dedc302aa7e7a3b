/*
 * client/connection.h - calls to the keeper, one at a time. Only this room uses it.
 */
#ifndef CARREL_CLIENT_CONNECTION_H
#define CARREL_CLIENT_CONNECTION_H

#include <stddef.h>
#include <stdint.h>

#include "api/operation.h"
#include "base/buffer.h"
#include "base/error.h"
#include "carrel/carrel.h"
#include "wire/record.h"

struct carrel {
        int socket; /* -1: lost; the next call reconnects */
        uint32_t serial;
        unsigned timeout_ms; /* 0: no timeout */
        char *state;
        struct record_writer w;                          /* the call that is being written */
        unsigned char *out, *in;                         /* WIRE_BODY_MAX bytes each */
        struct buffer reply;                             /* the record of the last answer */
        void (*waits)(void *data, const char *approval); /* carrel_on_approval(); or NULL */
        void *waits_data;
};

/* Opens a second connection to the same daemon. Errors: as carrel_open(). */
int connection_again(const struct carrel *c, struct carrel **ret, struct error *e);

/* Starts the record of a call. The writer is valid until connection_call(). */
struct record_writer *connection_begin(struct carrel *c);

/*
 * Sends the call and waits for its answer. `ret` is borrowed until the next call. `ret_fd` (may be
 * NULL) receives the descriptor of an operation that returns one. A call that was not delivered is
 * sent again over a new connection. A call whose answer was lost is also sent again if the
 * operation may be repeated. Errors: the daemon's own; ERROR_DAEMON_UNREACHABLE, _CONNECTION_LOST,
 * _PROTOCOL, _INVALID_ARGUMENT (checked before the call is sent).
 */
int connection_call(struct carrel *c, enum operation_code op, struct record *ret, int *ret_fd,
                    struct error *e);

/*
 * connection_call() in two steps, for an operation that only reads and may take long.
 * connection_ask() sends the call. connection_answer() reads the answer and never blocks. It
 * returns 1 with the answer in `ret`, 0 if there is no answer yet (poll c->socket), or -1. While
 * the daemon restarts, it retries for at most 3 s and sends the call once more.
 */
int connection_ask(struct carrel *c, enum operation_code op, struct error *e);
int connection_answer(struct carrel *c, struct record *ret, struct error *e);

#endif
