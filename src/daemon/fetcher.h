/*
 * daemon/fetcher.h - the process that gets the values of secrets from their sources. So the keeper
 * executes nothing and never waits.
 */
#ifndef CARREL_DAEMON_FETCHER_H
#define CARREL_DAEMON_FETCHER_H

#include <sys/types.h>

#include "base/error.h"
#include "secret/sources.h"

/*
 * Loads the list of sources. Called in a new process for each request; its memory is freed when
 * that process ends.
 */
typedef int fetcher_load(void *ctx, struct secret_sources *ret, struct error *e);

/*
 * Starts the fetcher as a fork of the caller. `fd` (borrowed) is its end of a seqpacket pair with
 * its client. It dies with its parent, or when the other end is closed. Errors:
 * ERROR_BACKEND_FAILED.
 */
int fetcher_start(fetcher_load *load, void *ctx, int fd, pid_t *ret, struct error *e);

/*
 * Requests values over the other end and blocks until they arrive. For a caller that can wait.
 * Results and errors: those of secret_sources_fetch(); also ERROR_PROTOCOL, ERROR_UNAVAILABLE.
 */
int fetcher_ask(int fd, const char *const *slugs, size_t count, struct secret_values *values,
                size_t *ret_failed, struct error *e);

#endif
