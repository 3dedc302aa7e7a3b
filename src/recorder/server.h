/*
 * recorder/server.h - the daemon's recorder: the only process that opens the audit logs of the
 * daemon's owners, STATE/audit/OWNER, and their keys.
 */
#ifndef CARREL_RECORDER_SERVER_H
#define CARREL_RECORDER_SERVER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* What the host file says of logs. */
struct recorder_rules {
        uint64_t keep_ms;    /* older files are removed (audit/retain.h); 0: none is */
        uint32_t redact_off; /* groups of rules that remove nothing: redact_leave() */
};

/*
 * Starts it as a fork of the caller. `fd` (borrowed) is its end of a seqpacket pair with the
 * keeper. `state` is the state directory; its directory "audit" is created if it is missing. The
 * process dies with its parent, and ends when the other end is closed and everything is written.
 * `rules` is copied.
 * `forget` runs in it first: it erases what the caller holds and the recorder does not need.
 * Errors: ERROR_BACKEND_FAILED, ERROR_STATE_UNUSABLE.
 */
int recorder_serve(const char *state, int fd, const struct recorder_rules *rules,
                   void (*forget)(void *ctx), void *ctx, pid_t *ret, struct error *e);

#endif
