/*
 * audit/verify.h - audit_log_verify() in steps, for a process that has other things to do.
 */
#ifndef CARREL_AUDIT_VERIFY_H
#define CARREL_AUDIT_VERIFY_H

#include <stdbool.h>
#include <stddef.h>

#include "audit/log.h"
#include "audit/walk.h"

/* In the caller's memory, which does not move: the walk points into it. */
struct audit_check {
        struct audit_log *log;
        struct audit_verdict *verdict;
        const struct audit_checkpoint *checkpoints[2]; /* NULL: none */
        struct audit_checkpoint here;                  /* checkpoint.json */
        struct audit_walk walk;
        bool needs_keys, is_begun;
        bool may_begin;                     /* an entry log.pruned permits its first entry */
        char previous[AUDIT_HASH_TEXT];     /* of its first entry */
        char public_key[65];                /* of the chain's checkpoints */
        char misnamed[AUDIT_FILE_NAME_MAX]; /* a file; "": none */
        int reads;                          /* how often files were removed meanwhile */
};

/* `log`, `kept` (may be NULL) and `ret` are borrowed until audit_check_fini(). */
void audit_check_init(struct audit_check *c, struct audit_log *log,
                      const struct audit_checkpoint *kept, bool needs_keys,
                      struct audit_verdict *ret);

/*
 * Checks `bytes` of the log, or a little more. 1: there is more; 0: all of it is intact, up to the
 * entries that were there at the first step; -1 with the errors of audit_log_verify().
 */
int audit_check_step(struct audit_check *c, size_t bytes, struct error *e);

void audit_check_fini(struct audit_check *c);

#endif
