/*
 * client/port.h - waiting until a declared port of an exec's sandbox listens, beside the exec's channel. Only this room uses it.
 */
#ifndef CARREL_CLIENT_PORT_H
#define CARREL_CLIENT_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "client/connection.h"

struct client_ports {
        struct carrel *c;              /* a connection of its own; NULL: nothing is waited for (any more) */
        int poll_fd;                   /* readable when this connection or the exec's channel has news; -1: none */
        unsigned port;                 /* the one that listens; 0: none yet */
};

/* Waits for nothing. */
void client_ports_init(struct client_ports *p);

/*
 * Begins to wait, over the connection `take_c` (also taken where this fails): for `limit_ms` at most (0: until the exec ends). `channel` is the exec's socket. Errors: those of
 * connection_ask(), ERROR_INTERNAL.
 */
int client_ports_begin(struct client_ports *p, struct carrel *take_c, const char *id, uint32_t exec, uint64_t limit_ms, int channel, struct error *e);

/* Is poll_fd to wait until the channel can be written, too? */
void client_ports_want(const struct client_ports *p, int channel, bool writes);

/* 1: the wait is over: p->port listens, or the time is over (0); 0: not yet, or the exec ended, which its channel tells; -1. Does not wait. */
int client_ports_next(struct client_ports *p, struct error *e);

void client_ports_fini(struct client_ports *p);

#endif
