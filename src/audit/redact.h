/*
 * audit/redact.h - removes secrets and personal data from the texts of an event, before it is
 * written (text/redact.def).
 *
 * What is removed is replaced by "[redacted:RULE]". A guard against what is passed by mistake: a
 * secret without a known form stays. The digest of a command's words is over the words as they
 * were, and a short secret could be guessed from it. So in a text from which something was removed,
 * it becomes an HMAC with a key of the log.
 */
#ifndef CARREL_AUDIT_REDACT_H
#define CARREL_AUDIT_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "audit/entry.h"
#include "base/buffer.h"
#include "base/error.h"
#include "text/redact_find.h"

/*
 * Appends `text` (a C string) to `out` without what the rules find. `counts` (of redact_rules())
 * grows by what each removed. Linear in the length, for a constant number of rules. Errors:
 * ERROR_NO_MEMORY.
 */
int redact_text(const char *text, size_t *counts, struct buffer *out, struct error *e);

/* Would redact_json() remove anything from this tree? NULL: no. */
bool redact_finds(const struct node *n);

/*
 * Redacts every string of the JSON object `json`: adds the member `redacted`, a map from rule to
 * count, and replaces `argv_sha256` by `argv_hmac_sha256`, over its hex digits. `out` stays empty
 * if no rule found anything: then `json` is as it should be. The word after an option like
 * --password is removed as well. Errors: ERROR_INVALID_ARGUMENT (no JSON object), ERROR_NO_MEMORY.
 */
int redact_json(const char *json, const struct audit_key *key, struct buffer *out, struct error *e);

#endif
