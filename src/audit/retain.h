/*
 * audit/retain.h - applies the retention of the host file to a log.
 */
#ifndef CARREL_AUDIT_RETAIN_H
#define CARREL_AUDIT_RETAIN_H

#include <stdint.h>

#include "audit/log.h"
#include "audit/prune.h"

/*
 * Removes files whose entries are all older than `keep_ms` before `now_ms` (milliseconds since
 * 1970), as audit_log_prune() does. 0 keeps everything. Without a file that is old enough, it reads
 * the directory and the end of the oldest file.
 * A log that is not intact stays whole: the entry retention.refused says why, and the log goes on.
 * Errors: those of audit_log_prune(), also after that entry.
 */
int audit_log_retain(struct audit_log *log, uint64_t keep_ms, uint64_t now_ms,
                     struct audit_pruned *ret, struct error *e);

/*
 * The same in steps, as audit_prune_step(). audit_retain_init(): `keep_ms` is not 0, and the log is
 * borrowed until audit_prune_fini(). audit_retain_step() writes retention.refused as well.
 */
void audit_retain_init(struct audit_prune *p, struct audit_log *log, uint64_t keep_ms,
                       uint64_t now_ms);
int audit_retain_step(struct audit_prune *p, size_t bytes, struct error *e);

#endif
