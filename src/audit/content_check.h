/*
 * audit/content_check.h - the contents that entries of an audit log name: are they there, and which
 * may be removed.
 *
 * An entry names contents in output.content: {"stdin": {"sha256": ...}, "stdout": ..., ...}.
 * The signed entry content.pruned permits that contents of entries from before its `before` are
 * missing.
 */
#ifndef CARREL_AUDIT_CONTENT_CHECK_H
#define CARREL_AUDIT_CONTENT_CHECK_H

#include <stdint.h>

#include "audit/log.h"
#include "audit/walk.h"

struct audit_content_verdict {
        uint64_t kept, bytes; /* contents that are there and right */
        uint64_t pruned;      /* names of contents that were removed */
        uint64_t at;          /* number of the entry whose content is wrong */
};

/*
 * Checks the content of every entry. Call audit_log_verify() first: entries are believed. Errors:
 * ERROR_AUDIT_BROKEN "content.tampered", "content.missing"; ERROR_AUDIT_UNAVAILABLE,
 * ERROR_NO_MEMORY.
 */
int audit_content_verify(struct audit_log *log, struct audit_content_verdict *ret, struct error *e);

struct audit_content_pruned {
        uint64_t files, bytes; /* 0: nothing was old enough, and no entry was written */
};

/* In the caller's memory, which does not move. */
struct audit_content_prune {
        struct audit_log *log;
        uint64_t before_ms;
        const char *actor_id;
        struct audit_content_names *names; /* owned */
        struct audit_walk walk;
        int reads;                        /* how often files were removed meanwhile */
        struct audit_content_pruned done; /* the result */
};

/*
 * Removes each content that no entry from `before_ms` (milliseconds since 1970) on names, and that
 * was not kept since. The entry content.pruned is on the disk before the first is removed. In
 * steps, as audit_check_step(). `log` and `actor_id` are borrowed until
 * audit_content_prune_fini(). Errors: those of audit_log_read() and audit_log_append();
 * ERROR_AUDIT_UNAVAILABLE, ERROR_NO_MEMORY.
 */
void audit_content_prune_init(struct audit_content_prune *p, struct audit_log *log,
                              uint64_t before_ms, const char *actor_id);
int audit_content_prune_step(struct audit_content_prune *p, size_t bytes, struct error *e);
void audit_content_prune_fini(struct audit_content_prune *p);

#endif
