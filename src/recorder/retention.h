/*
 * recorder/retention.h - applies the retention to one log, while entries go on.
 *
 * The whole log is verified before a file is removed, which can take minutes. So it is done in
 * steps: the recorder writes what arrived between two of them.
 */
#ifndef CARREL_RECORDER_RETENTION_H
#define CARREL_RECORDER_RETENTION_H

#include <stdint.h>

#include "audit/log.h"
#include "audit/retain.h"
#include "base/error.h"

enum { RETENTION_STEP = 64 * 1024 /* bytes of the log, about 2 ms */ };

struct owner;

/* In the caller's memory, zero at first. It does not move. */
struct retention {
        struct owner *of;     /* borrowed; NULL: none is running */
        struct audit_log log; /* opened once more: the owner's own can be closed meanwhile */
        struct audit_prune prune;
};

/* Nothing is read yet. `place`: the log's directory. Errors: those of audit_log_open(). */
int retention_start(struct retention *r, const char *place, struct owner *of, uint64_t keep_ms,
                    struct error *e);

/*
 * One step. At the end and after an error it has stopped (`of` is NULL). *ret_seq, if files were
 * removed: the number of log.pruned. Errors: those of audit_log_retain().
 */
int retention_step(struct retention *r, uint64_t *ret_seq, struct error *e);

/* Nothing is removed. */
void retention_stop(struct retention *r);

#endif
