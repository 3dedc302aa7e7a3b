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

#include <stdbool.h>
#include <stdint.h>

#include "audit/content_check.h"
#include "audit/files.h"
#include "audit/log.h"
#include "audit/verify.h"

struct audit_pruned {
        uint64_t first, last; /* numbers of the entries that were removed */
        uint64_t files;       /* 0: nothing was old enough, and no entry was written */
        uint64_t seq;         /* of log.pruned */
        struct audit_content_pruned content;
};

/* In the caller's memory, which does not move. */
struct audit_prune {
        struct audit_log *log;
        uint64_t before_ms;
        const char *actor_id;
        bool is_begun, has_pruned; /* the files are listed; they were removed */
        struct audit_file_list list;
        size_t count; /* of its first files, that are removed */
        char before[AUDIT_TIME_TEXT], hash[AUDIT_HASH_TEXT];
        struct audit_check check;
        struct audit_verdict verdict;
        struct audit_content_prune content;
        struct audit_pruned done; /* the result */
};

/*
 * Removes files whose entries are all from before `before_ms` (milliseconds since 1970). The log is
 * verified first: one that is not intact stays as it is. Only files that were there at the first
 * step are removed, from the oldest on, each durably: a call that is killed leaves a log that
 * verifies, and the next call continues. In steps, as audit_check_step(): entries may be appended
 * in between, also by `log`. The last step writes log.pruned and removes. `log` and `actor_id` are
 * borrowed until audit_prune_fini(). Errors: those of audit_log_verify() and audit_log_append();
 * ERROR_AUDIT_UNAVAILABLE.
 */
void audit_prune_init(struct audit_prune *p, struct audit_log *log, uint64_t before_ms,
                      const char *actor_id);
int audit_prune_step(struct audit_prune *p, size_t bytes, struct error *e);
void audit_prune_fini(struct audit_prune *p);

/* All steps. */
int audit_log_prune(struct audit_log *log, uint64_t before_ms, const char *actor_id,
                    struct audit_pruned *ret, struct error *e);

#endif
