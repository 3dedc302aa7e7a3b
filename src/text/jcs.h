/*
 * text/jcs.h - the canonical form of a JSON value: the same value gives the same bytes everywhere.
 *
 * Source: RFC 8785 (JSON Canonicalization Scheme). Hashes and signatures are made over this form.
 */
#ifndef CARREL_TEXT_JCS_H
#define CARREL_TEXT_JCS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "text/tree.h"

/* Integers beyond these are not exact in a double, and RFC 8785 has no form for them. */
#define JCS_INTEGER_MAX (INT64_C(1) << 53)

/* A member of the root map that is left out, also of a map below it: "metadata", "carrel", "hmac".
 */
struct jcs_without {
        const char *const *path; /* keys from the root; the last one is left out */
        size_t len;
};

/*
 * Appends the canonical form of `n` to `out`, at most `max` bytes in all. Of each path in
 * `without` (may be NULL with count 0) the last member is left out.
 *
 * Errors: ERROR_INVALID_ARGUMENT "number" (not an integer, or beyond JCS_INTEGER_MAX: fractions
 * have no canonical form here), ERROR_REQUEST_TOO_LARGE (more than `max`), ERROR_NO_MEMORY.
 */
int jcs_write(const struct node *n, const struct jcs_without *without, size_t count, size_t max,
              struct buffer *out, struct error *e);

#endif
