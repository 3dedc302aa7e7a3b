/*
 * daemon/fetcher.h - the process that asks the sources of secrets' values, so that the keeper executes nothing and waits for nobody.
 */
#ifndef CARREL_DAEMON_FETCHER_H
#define CARREL_DAEMON_FETCHER_H

#include <sys/types.h>

#include "base/error.h"
#include "secret/sources.h"

/* Which sources there are. Called in the process of each question, whose memory ends with it. */
typedef int fetcher_load(void *ctx, struct secret_sources *ret, struct error *e);

/*
 * Starts it: a fork of its parent. `fd` (borrowed) is its end of a seqpacket pair with who asks. It dies with its parent, and when the other
 * end is closed. Errors: ERROR_BACKEND_FAILED.
 */
int fetcher_start(fetcher_load *load, void *ctx, int fd, pid_t *ret, struct error *e);

/* For who has nothing else to do meanwhile: asks over the other end and waits. As secret_sources_fetch(); also ERROR_PROTOCOL, ERROR_UNAVAILABLE. */
int fetcher_ask(int fd, const char *const *slugs, size_t count, struct secret_values *values, size_t *ret_failed, struct error *e);

#endif
