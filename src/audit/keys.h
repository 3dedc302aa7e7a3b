/*
 * audit/keys.h - the keys of an audit log, in files that only this user can read.
 */
#ifndef CARREL_AUDIT_KEYS_H
#define CARREL_AUDIT_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "audit/checkpoint.h"
#include "audit/entry.h"
#include "base/error.h"

enum { AUDIT_KEYS_MAX = 256 };

/*
 * Reads every key-ID of the directory. Gives an array, which audit_keys_free() erases and frees.
 * Errors: ERROR_AUDIT_UNAVAILABLE (a key that others can read, or that does not have its name; more
 * than AUDIT_KEYS_MAX), ERROR_NO_MEMORY.
 */
int audit_keys_read(int dir, struct audit_key **ret, size_t *ret_count, struct error *e);
void audit_keys_free(struct audit_key *keys, size_t count);

/* The key with this id, or NULL. */
const struct audit_key *audit_keys_find(const struct audit_key *keys, size_t count, const char *id);

/* Writes a new key to the disk. `ret_id` (may be NULL) receives its id. */
int audit_keys_add(int dir, char ret_id[AUDIT_KEY_TEXT], struct error *e);

/* The seed that signs checkpoints. If `makes`, a missing one is created. The caller erases it. */
int audit_keys_seed(int dir, bool makes, unsigned char ret[AUDIT_SEED_LEN], struct error *e);

#endif
