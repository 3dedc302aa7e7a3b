/*
 * cli/audit_content.h - the kept contents of an entry of an audit log, for people and programs.
 */
#ifndef CARREL_CLI_AUDIT_CONTENT_H
#define CARREL_CLI_AUDIT_CONTENT_H

#include "audit/log.h"
#include "base/error.h"

/*
 * Writes the content of `stream` ("stdin", "stdout" or "stderr") of `entry`, an exec.ended, to
 * standard output, after its digest was checked: to a terminal with control bytes shown as text,
 * else as it is. Errors: ERROR_INVALID_ARGUMENT (the entry has none), those of
 * audit_content_read().
 */
int audit_content_print(const struct audit_log *log, const struct audit_entry *entry,
                        const char *stream, struct error *e);

#endif
