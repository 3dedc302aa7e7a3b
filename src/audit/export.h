/*
 * audit/export.h - entries of a log in the form of AgentsKit's signed log.
 *
 * Each row has the members of "agentgovernance/v1" (actorKind, entityId, createdAt, ...); the entry
 * itself is in `payload`. signature = HMAC-SHA-256(secret, prevSignature and the canonical row
 * without "signature"), in hex; prevSignature of the first row is 64 zeros. Source: the published
 * hash-chain protocol, section 6.1; test vector in audit/export_test.c.
 */
#ifndef CARREL_AUDIT_EXPORT_H
#define CARREL_AUDIT_EXPORT_H

#include <stddef.h>

#include "audit/entry.h"
#include "base/buffer.h"
#include "base/error.h"

struct audit_export {
        const unsigned char *secret; /* borrowed; any length */
        size_t secret_len;
        char previous[AUDIT_HASH_TEXT];
};

void audit_export_init(struct audit_export *x, const unsigned char *secret, size_t len);

/* Appends the next row as one line. Errors: ERROR_NO_MEMORY, ERROR_REQUEST_TOO_LARGE. */
int audit_export_row(struct audit_export *x, const struct audit_entry *entry, struct buffer *out,
                     struct error *e);

/*
 * The signature of a row that has every member but "signature", as its canonical text. Writes hex
 * to `ret`.
 */
void audit_export_sign(const struct audit_export *x, const char *row, size_t len,
                       char ret[AUDIT_HASH_TEXT]);

#endif
