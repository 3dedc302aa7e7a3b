/*
 * audit/prune.h - removes old files of an audit log, so that the rest still verifies.
 *
 * Files are removed whole, and only if each of their entries is older than asked. Before that, the
 * signed entry log.pruned is on the disk: the number of the first entry that is kept and its
 * prevHash, the public key of checkpoints, and what is removed. The file with the newest entries
 * stays. Then contents that no entry from that time on names are removed, also those of entries
 * that stay: audit/content_check.h.
 */
#ifndef CARREL_AUDIT_PRUNE_H
#define CARREL_AUDIT_PRUNE_H

#include <stdint.h>

#include "audit/content_check.h"
#include "audit/log.h"

struct audit_pruned {
        uint64_t first, last; /* numbers of the entries that were removed */
        uint64_t files;       /* 0: nothing was old enough, and no entry was written */
        uint64_t seq;         /* of log.pruned */
        struct audit_content_pruned content;
};

/*
 * Removes files whose entries are all from before `before_ms` (milliseconds since 1970). The log is
 * verified first: one that is not intact stays as it is. Files are removed from the oldest on, each
 * durably, so a call that is killed leaves a log that verifies, and the next call continues.
 * Errors: those of audit_log_verify() and audit_log_append(); ERROR_AUDIT_UNAVAILABLE.
 */
int audit_log_prune(struct audit_log *log, uint64_t before_ms, const char *actor_id,
                    struct audit_pruned *ret, struct error *e);

#endif
