/*
 * cli/audit_call.h - recorded calls that change files, for `carrel audit replay`.
 */
#ifndef CARREL_CLI_AUDIT_CALL_H
#define CARREL_CLI_AUDIT_CALL_H

#include <stdbool.h>

#include "cli/audit_recording.h"

/* A call that did not get all of its input, or not what it announced: it changed nothing
 * (wire/file.h). */
bool audit_call_changed_nothing(const struct recording *r);

/* Why this call cannot be made again, as a sentence; NULL: it can. */
const char *audit_call_why_not(const struct recording *r);

/*
 * Gives a file in memory with what the call reads: its files (wire/file.h), or nothing. Errors:
 * those of audit_content_read(); ERROR_AUDIT_BROKEN, if its list and its content do not agree.
 */
int audit_call_open_input(const struct audit_log *log, const struct recording *r, struct error *e);

/*
 * Does a call of these say of a row of file.changed (src/changes) that it is its own? `seq`: the
 * number of the row's entry.
 */
bool audit_call_explains(const struct recordings *all, const struct node *row, uint64_t seq);

#endif
