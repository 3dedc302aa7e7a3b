/*
 * audit/checkpoint.h - a signed statement: at this moment the chain had this many entries, and the
 * last one had this hash.
 *
 * Kept elsewhere, it shows that a log was cut, rolled back or replaced, which a chain alone cannot
 * show. The signature is Ed25519 over the canonical form without "signature", so that anybody who
 * knows the public key can check it (the first entry of a log names it).
 */
#ifndef CARREL_AUDIT_CHECKPOINT_H
#define CARREL_AUDIT_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "audit/entry.h"
#include "base/buffer.h"
#include "base/error.h"

enum { AUDIT_SEED_LEN = 32, AUDIT_CHECKPOINT_MAX = 4096 };

struct audit_checkpoint {
        char chain[AUDIT_ID_TEXT];
        uint64_t seq; /* of the last entry */
        char hash[AUDIT_HASH_TEXT], time[AUDIT_TIME_TEXT];
        char public_key[65];
        char signature[129];
};

/* The public key of a seed, in hex. */
void audit_public_key(const unsigned char seed[AUDIT_SEED_LEN], char ret[65]);

/* Signs the end of a chain that has at least one entry. */
int audit_checkpoint_make(const struct audit_head *head, const unsigned char seed[AUDIT_SEED_LEN],
                          struct audit_checkpoint *ret, struct error *e);

/* Appends it as one line of canonical JSON with its line end. Errors: ERROR_NO_MEMORY. */
int audit_checkpoint_write(const struct audit_checkpoint *c, struct buffer *out, struct error *e);

/*
 * Reads and checks one: that it is signed with the key it names. Whether that is the key of the
 * chain, the caller decides. Errors: ERROR_AUDIT_BROKEN "checkpoint.form", "checkpoint.signature";
 * ERROR_NO_MEMORY.
 */
int audit_checkpoint_read(const char *text, size_t len, struct audit_checkpoint *ret,
                          struct error *e);

#endif
