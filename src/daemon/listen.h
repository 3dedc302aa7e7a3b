/*
 * daemon/listen.h - the daemon's listening sockets: passed by a service manager, or created here.
 */
#ifndef CARREL_DAEMON_LISTEN_H
#define CARREL_DAEMON_LISTEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "daemon/graph.h"
#include "daemon/state.h"

struct listeners {
        int fds[SLOT_MAX]; /* -1: none */
        /* from the service manager, so the daemon does not remove its name */
        bool is_given[SLOT_MAX];
};

void listeners_init(struct listeners *l);

/*
 * Takes the sockets that sd_listen_fds(3) describes, and removes them from the environment. The
 * type says the use of each: a unix stream socket is HTTP, a unix seqpacket socket is the keeper's.
 * TCP is HTTP with a token, or, if named "ingress", the ports of sandboxes. Errors:
 * ERROR_INVALID_ARGUMENT (a socket that is not listening, of another type, given twice, or
 * reachable from other machines).
 */
int listeners_take(struct listeners *l, struct error *e);

/*
 * Creates STATE/keeper.sock or STATE/carrel.sock, as the slot says, with `mode` from its first
 * moment on. Replaces an existing socket: it is stale, because this process holds the lock. Refuses
 * any other file and never follows a link. Errors: ERROR_STATE_UNUSABLE "not_socket".
 */
int listeners_unix(struct listeners *l, enum graph_slot slot, const struct state *state,
                   mode_t mode, struct error *e);

/*
 * Listens on "127.0.0.1:7070" or "[::1]:0". Loopback only. Errors: ERROR_INVALID_ARGUMENT with the
 * place `option`, or the error of bind(2).
 */
int listeners_tcp(struct listeners *l, enum graph_slot slot, const char *option, const char *text,
                  struct error *e);

/* "http://127.0.0.1:7070", or "" without a socket. */
void listeners_url(const struct listeners *l, enum graph_slot slot, char out[64]);
unsigned listeners_port(const struct listeners *l, enum graph_slot slot);

/* Closes all sockets and removes the names that were created here. */
void listeners_fini(struct listeners *l, const struct state *state);

#endif
