/*
 * audit/content.h - what commands read and wrote, kept beside an audit log: a file for each content
 * in the directory "content", named by its SHA-256.
 *
 * A content is at most AUDIT_CONTENT_MAX bytes: of a longer one the beginning is kept, up to its
 * last line end. In its text parts, what the rules of audit/redact.h find is replaced. A text part
 * is a sequence of lines that are UTF-8 without control characters except tabs, carriage returns
 * and escapes; all other lines are kept unchanged. Entries of the log name a content by the digest
 * of what was kept, and have the digest of the original bytes beside it.
 *
 * A file is written under another name, synced and renamed, while the log is locked. So such a name
 * that is found under the lock was left behind by a writer that was killed, and is removed.
 */
#ifndef CARREL_AUDIT_CONTENT_H
#define CARREL_AUDIT_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/log.h"
#include "base/buffer.h"
#include "base/error.h"
#include "text/json.h"

enum {
        AUDIT_CONTENT_MAX = 8 << 20,          /* bytes of one content */
        AUDIT_CONTENT_TOTAL_MAX = 1 << 30,    /* bytes of all */
        AUDIT_CONTENT_COUNT_MAX = 100 * 1000, /* files */
        /* of a command: standard input, output, error; what servers answered it */
        AUDIT_CONTENT_STREAMS = 4,
        AUDIT_CONTENT_EGRESS = 3 /* the last one, which only some commands have */
};

struct audit_content {
        char sha256[AUDIT_HASH_TEXT];
        uint64_t bytes;
        bool is_truncated;
        size_t *redacted; /* counts of redact_rules(); owned by audit_content_put()'s caller */
};

/*
 * Is there room for the contents of another command? Creates the directory, and removes what killed
 * writers left. The bounds are checked here, not by audit_content_put(): commands that run at the
 * same time can go past them by their own contents. Errors: ERROR_AUDIT_UNAVAILABLE
 * ("content_full").
 */
int audit_content_begin(struct audit_log *log, struct error *e);

/*
 * Keeps `len` bytes, durably. The same bytes again use the same file. `redacted` of `ret` must have
 * room for redact_rules(), and grows. Set `is_truncated` if `bytes` are only the beginning of the
 * content: they are kept up to the last line end. Errors: ERROR_AUDIT_UNAVAILABLE, ERROR_NO_MEMORY.
 */
int audit_content_put(struct audit_log *log, const char *bytes, size_t len,
                      struct audit_content *ret, struct error *e);

/* The value of a member: sha256, bytes, truncated, redacted. */
void audit_content_write(struct json_writer *w, const struct audit_content *c);

/*
 * Appends the content with this digest to `out`, and checks it. Errors: ERROR_INVALID_ARGUMENT (no
 * digest); ERROR_AUDIT_UNAVAILABLE "content_missing"; ERROR_AUDIT_BROKEN "content.tampered".
 */
int audit_content_read(const struct audit_log *log, const char *sha256, struct buffer *out,
                       struct error *e);

/* Appends `bytes` to `out`, redacted as above. Errors: ERROR_NO_MEMORY. */
int audit_content_clean(const char *bytes, size_t len, size_t *counts, struct buffer *out,
                        struct error *e);

/*
 * Calls `each` for every file. `mtime_ms`: when it was last kept. Nothing if there is no directory.
 * false ends it. Errors: ERROR_AUDIT_UNAVAILABLE.
 */
int audit_content_list(const struct audit_log *log,
                       bool (*each)(void *ctx, int dir, const char *sha256, uint64_t mtime_ms,
                                    uint64_t bytes),
                       void *ctx, struct error *e);

#endif
