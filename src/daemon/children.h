/*
 * daemon/children.h - the processes of the daemon, as one.
 */
#ifndef CARREL_DAEMON_CHILDREN_H
#define CARREL_DAEMON_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "daemon/graph.h"
#include "daemon/listen.h"
#include "secret/sources.h"

struct children {
        pid_t pids[PROCESS_CHILDREN];  /* 0: not there */
        int gates;                     /* where the keeper is told of gates, -1: no keeper */
};

/* What they are given besides descriptors. */
struct children_given {
        const char *state, *ingress;                   /* `ingress` may be "" */
        const char *pool, *delete_after_ms;            /* or NULL */
        int (*sources)(void *ctx, struct secret_sources *ret, struct error *e);        /* of secrets; NULL: there are none, and no fetcher */
        void *ctx;
};

/* Starts all but the gate, in their order, each with its descriptors. On failure those that began are in `c`. Errors: ERROR_BACKEND_FAILED and child_start()'s. */
int children_start(struct children *c, const struct children_given *given, const struct listeners *l, struct error *e);

/* Starts a gate, and tells the keeper: what gate it had before is forgotten by that. Errors: as child_start(). */
int children_start_gate(struct children *c, struct error *e);

/* Lets go of what is held of them but their processes. */
void children_close(struct children *c);

bool children_any(const struct children *c);
void children_signal(const struct children *c, int number);

/* Waits until all are gone. */
void children_wait(const struct children *c);

#endif
