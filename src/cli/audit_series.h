/*
 * cli/audit_series.h - all that ran in a sandbox up to one command, for `carrel audit replay`.
 */
#ifndef CARREL_CLI_AUDIT_SERIES_H
#define CARREL_CLI_AUDIT_SERIES_H

#include "cli/audit_recording.h"

/*
 * Reads a command, and all that ran in its sandbox before it, as far as `base` of their starts
 * names them. Commands that did not start, and calls that changed nothing, are left out. Call
 * recordings_fini(), also after a failure. Errors: those of recording_read();
 * ERROR_INVALID_ARGUMENT ("replay_long"): more than RECORDINGS_MAX; ERROR_AUDIT_BROKEN
 * ("replay_order").
 */
int recordings_read(struct audit_log *log, uint64_t seq, struct recordings *ret, struct error *e);
void recordings_fini(struct recordings *all);

/*
 * Did files in the workspace change while none of its commands ran, after the first, in a way that
 * none of these calls explains? Known only if the daemon looks for changed files. Errors: those of
 * audit_log_read().
 */
int recordings_look(struct audit_log *log, const struct recordings *all, bool *ret_is_changed,
                    struct error *e);

#endif
