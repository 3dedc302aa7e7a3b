/*
 * cli/doc_daemon.h - a daemon of its own, for claims about what only a daemon does.
 */
#ifndef CARREL_CLI_DOC_DAEMON_H
#define CARREL_CLI_DOC_DAEMON_H

#include <sys/types.h>

#include "base/error.h"
#include "carrel/carrel.h"

struct doc_daemon {
        char folder[32]; /* in /tmp; "": none */
        pid_t pid;       /* 0: it does not run */
        struct carrel *c;
};

/*
 * Starts `carrel serve` with a state directory of its own and waits until it answers. `host_file`
 * may be NULL. Errors: ERROR_STORAGE_FULL; ERROR_BACKEND_FAILED (it ended, or did not answer within
 * 60 s). doc_daemon_close() follows also after an error.
 */
int doc_daemon_open(struct doc_daemon *d, const char *host_file, struct error *e);

/* Stops it with its sandboxes, and removes its directory. */
void doc_daemon_close(struct doc_daemon *d);

#endif
