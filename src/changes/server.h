/*
 * changes/server.h - carrel-files: the process of the daemon that forks one for each sandbox, which
 * looks for changed files in its writable mounts, and one for each digest of a workspace.
 */
#ifndef CARREL_CHANGES_SERVER_H
#define CARREL_CHANGES_SERVER_H

#include <sys/types.h>

#include "base/error.h"

/*
 * Starts it as a fork of the caller. `fd` (borrowed) is its end of a seqpacket pair with the keeper
 * (changes/message.h). It dies with its parent, and ends when the other end is closed; so do its
 * forks. `forget` runs in it first: it erases what the caller holds. Errors: ERROR_BACKEND_FAILED.
 */
int changes_serve(int fd, void (*forget)(void *ctx), void *ctx, pid_t *ret, struct error *e);

#endif
