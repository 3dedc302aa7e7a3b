/*
 * cli/audit_export.h - `carrel audit export`: a range of an audit log for another program.
 */
#ifndef CARREL_CLI_AUDIT_EXPORT_H
#define CARREL_CLI_AUDIT_EXPORT_H

#include "audit/log.h"
#include "base/arena.h"
#include "base/error.h"

/* Words of the command line; NULL: not given. */
struct audit_export_request {
        const char *from, *to;     /* number of an entry, or an RFC 3339 time; both are included */
        const char *form, *secret; /* the name of a form; the file with its secret */
};

/*
 * Prints the entries of the range to standard output. If it begins in the middle of the chain, or
 * is empty, standard error says so. Errors: ERROR_INVALID_ARGUMENT (no such place, the end lies
 * before the beginning, a form without its secret), those of audit_log_read() and of
 * audit/export.h.
 */
int audit_export_print(struct audit_log *log, struct arena *arena,
                       const struct audit_export_request *request, struct error *e);

#endif
