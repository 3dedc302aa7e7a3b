/*
 * client/port.h - waits until a declared port of an exec's sandbox listens, while the exec's
 * channel is read.
 *
 * Only this room uses it.
 */
#ifndef CARREL_CLIENT_PORT_H
#define CARREL_CLIENT_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "client/connection.h"

struct client_ports {
        struct carrel *c; /* its own connection; NULL: no wait is running */
        /* readable when this connection or the exec's channel has data; -1: none */
        int poll_fd;
        unsigned port; /* the port that listens; 0: none yet */
};

/* Sets the state in which no wait is running. */
void client_ports_init(struct client_ports *p);

/*
 * Starts the wait over the connection `take_c`, which is taken also on failure. `limit_ms` is the
 * longest wait (0: until the exec ends). `channel` is the exec's socket. Errors: those of
 * connection_ask(), ERROR_INTERNAL.
 */
int client_ports_begin(struct client_ports *p, struct carrel *take_c, const char *id, uint32_t exec,
                       uint64_t limit_ms, int channel, struct error *e);

/* Sets whether poll_fd also becomes readable when the channel can be written. */
void client_ports_want(const struct client_ports *p, int channel, bool writes);

/*
 * Returns 1 if the wait is over: p->port listens, or is 0 if the time has run out. Returns 0 if not
 * yet, or if the exec ended (its channel reports that). Returns -1 on an error. Never blocks.
 */
int client_ports_next(struct client_ports *p, struct error *e);

void client_ports_fini(struct client_ports *p);

#endif
