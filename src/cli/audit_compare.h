/*
 * cli/audit_compare.h - compares recorded commands with their replays, and prints the differences.
 */
#ifndef CARREL_CLI_AUDIT_COMPARE_H
#define CARREL_CLI_AUDIT_COMPARE_H

#include <stdbool.h>

#include "audit/log.h"
#include "base/error.h"
#include "cli/audit_egress.h"
#include "cli/audit_recording.h"

/*
 * `refs`: the references of the replays in the caller's own log, in the order of `all`, a line
 * each; it is cut up. `egress`: of the last one. Prints the comparison. Returns 0: all of them
 * ended and printed the same; 1: not. Errors: ERROR_INVALID_ARGUMENT with the reason of the replay
 * that was refused, ERROR_BACKEND_FAILED if there are fewer of them, ERROR_NO_MEMORY, those of
 * audit_log_read() and audit_content_read().
 */
int audit_compare(struct audit_log *log, const struct recordings *all, struct audit_egress *egress,
                  char *refs, bool is_json, struct error *e);

#endif
