/*
 * cli/recorder.h - the process that writes the audit log of `carrel run --audit`.
 *
 * The process that parses manifests may write no file as root, and the keys of the log are not in
 * its memory: it sends events, and the recorder writes them. If `carrel` ends without saying how
 * the command ended, the recorder writes that its end was not seen.
 */
#ifndef CARREL_CLI_RECORDER_H
#define CARREL_CLI_RECORDER_H

#include "audit/log.h"
#include "base/arena.h"
#include "base/error.h"

enum { RECORDER_REF_MAX = 80, RECORDER_JSON_MAX = 96 * 1024 /* bytes of input, and of output */ };

/*
 * The directory of the caller's own log: `named`, else audit/uid:N in the state directory.
 * Absolute, in `arena`. Errors: those of state_choose(), ERROR_AUDIT_UNAVAILABLE (no such
 * directory).
 */
int recorder_directory(struct arena *arena, const char *named, const char **ret, struct error *e);

/* Opens the log and starts the process. Call it before the ladder. Errors: those of
 * audit_log_open(), ERROR_BACKEND_FAILED. */
int recorder_start(struct error *e);

/*
 * Waits until the event is on the disk. `ret_ref` receives "audit://CHAIN/NUMBER". Errors: those of
 * audit_log_append(); ERROR_AUDIT_UNAVAILABLE if the recorder has ended.
 */
int recorder_append(const struct audit_event *event, char ret_ref[RECORDER_REF_MAX],
                    struct error *e);

/* Ends the process. Nothing if there is none. */
void recorder_end(void);

#endif
