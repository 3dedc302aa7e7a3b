/*
 * daemon/listen.h - the sockets on which the daemon is spoken to: handed over by a service manager, or made here.
 */
#ifndef CARREL_DAEMON_LISTEN_H
#define CARREL_DAEMON_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "daemon/graph.h"
#include "daemon/state.h"

struct listeners {
        int fds[SLOT_MAX];             /* -1: none */
        bool is_given[SLOT_MAX];       /* by the service manager: its name in the file system is not ours */
};

void listeners_init(struct listeners *l);

/*
 * Takes what sd_listen_fds(3) describes, out of the environment as well. Each is told by what it is: a unix stream socket is HTTP, a unix
 * seqpacket socket the keeper's, TCP is HTTP with a token, or, named "ingress", that of the ports. Errors: ERROR_INVALID_ARGUMENT (one that is
 * not listening, of another kind, twice, or reachable from other machines).
 */
int listeners_take(struct listeners *l, struct error *e);

/*
 * Makes STATE/keeper.sock or STATE/carrel.sock, as the slot says, mode `mode` from its first moment on. A socket that is there is stale, for we hold the lock, and is replaced; anything else
 * is refused, and a link is never followed. Errors: ERROR_STATE_UNUSABLE "not_socket".
 */
int listeners_unix(struct listeners *l, enum graph_slot slot, const struct state *state, mode_t mode, struct error *e);

/* "127.0.0.1:7070", "[::1]:0". Loopback only. Errors: ERROR_INVALID_ARGUMENT with the place `option`, or what bind(2) says. */
int listeners_tcp(struct listeners *l, enum graph_slot slot, const char *option, const char *text, struct error *e);

/* "http://127.0.0.1:7070", or "" where there is none. */
void listeners_url(const struct listeners *l, enum graph_slot slot, char out[64]);
unsigned listeners_port(const struct listeners *l, enum graph_slot slot);

/* Closes all, and takes the names away that were made here. */
void listeners_fini(struct listeners *l, const struct state *state);

#endif
