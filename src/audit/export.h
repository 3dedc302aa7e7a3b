/*
 * audit/export.h - entries of a log as rows of other signed logs.
 *
 * AgentsKit (createSignedAuditLog of @agentskit/observability): {"seq","timestamp","actor",
 * "action","payload","prevHash"}, in this order, with seq from 1 on. prevHash = SHA-256 of the row
 * before without "signature", "" in the first row; signature = HMAC-SHA-256(secret, the row without
 * "signature"), both in hex. Its reader takes a row apart and writes it again with
 * JSON.stringify(), so the members of `payload` are in the order in which JavaScript keeps them.
 *
 * AIP-7's reference code: each row has the members of "agentgovernance/v1" (actorKind, entityId,
 * createdAt, ...); the entry itself is in `payload`. signature = HMAC-SHA-256(secret, prevSignature
 * and the canonical row without "signature"), in hex; prevSignature of the first row is 64 zeros.
 * Source: the published hash-chain protocol, section 6.1; test vector in audit/export_test.c.
 */
#ifndef CARREL_AUDIT_EXPORT_H
#define CARREL_AUDIT_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "audit/entry.h"
#include "base/buffer.h"
#include "base/error.h"

struct audit_export {
        const unsigned char *secret; /* borrowed; any length */
        size_t secret_len;
        uint64_t count;                 /* rows so far */
        char previous[AUDIT_HASH_TEXT]; /* of the last one: signature, or hash for AgentsKit */
};

/* Writes the next row of one form. All rows of one export have the same form. */
typedef int audit_export_fn(struct audit_export *x, const struct audit_entry *entry,
                            struct buffer *out, struct error *e);

void audit_export_init(struct audit_export *x, const unsigned char *secret, size_t len);

/* Appends the next row of AIP-7's reference code as one line. Errors: ERROR_NO_MEMORY,
 * ERROR_REQUEST_TOO_LARGE. */
audit_export_fn audit_export_row;

/* Appends the next row of AgentsKit's log as one line. Errors: the same. */
audit_export_fn audit_export_agentskit;

/*
 * The signature of a row that has every member but "signature", as its canonical text. Writes hex
 * to `ret`.
 */
void audit_export_sign(const struct audit_export *x, const char *row, size_t len,
                       char ret[AUDIT_HASH_TEXT]);

#endif
