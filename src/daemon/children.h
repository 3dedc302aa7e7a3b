/*
 * daemon/children.h - the child processes of the daemon as one group.
 */
#ifndef CARREL_DAEMON_CHILDREN_H
#define CARREL_DAEMON_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

#include <stdint.h>

#include "base/error.h"
#include "daemon/graph.h"
#include "daemon/listen.h"
#include "daemon/validators.h"
#include "secret/sources.h"

struct children {
        pid_t pids[PROCESS_CHILDREN]; /* 0: not running */
        int gates;                    /* announces new gates to the keeper; -1: no keeper */
};

/* What the children are given besides descriptors. */
struct children_given {
        const char *state, *ingress;        /* `ingress` may be "" */
        const char *pool, *delete_after_ms; /* or NULL */
        /* sources of secrets; NULL: none, and no fetcher */
        int (*sources)(void *ctx, struct secret_sources *ret, struct error *e);
        /* erases the operator's secrets in a fork that needs none */
        void (*forget)(void *ctx);
        void *ctx;
        uint64_t audit_keep_ms; /* how long audit logs are kept; 0: forever */
        uint32_t redact_off;    /* rules that remove nothing: redact_leave() */
        /* runs programs that judge calls; NULL: none, and no carrel-validate */
        validators_run *validate;
        void *validate_ctx;
        void (*forget_values)(void *ctx); /* as `forget`, but the environment stays */
};

/*
 * Starts all but the gate in order, each with its descriptors. On failure `c` holds those that were
 * started. Errors: ERROR_BACKEND_FAILED and those of child_start().
 */
int children_start(struct children *c, const struct children_given *given,
                   const struct listeners *l, struct error *e);

/*
 * Starts a gate and announces it to the keeper, which then forgets its previous gate. Errors: those
 * of child_start().
 */
int children_start_gate(struct children *c, struct error *e);

/* Closes the descriptors held for the children. Does not end the processes. */
void children_close(struct children *c);

bool children_any(const struct children *c);
void children_signal(const struct children *c, int number);

/* Waits until all children have exited. */
void children_wait(const struct children *c);

#endif
