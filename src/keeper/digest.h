/*
 * keeper/digest.h - decides whether two calls ask for the same.
 */
#ifndef CARREL_KEEPER_DIGEST_H
#define CARREL_KEEPER_DIGEST_H

#include <stdbool.h>

#include "api/operation.h"
#include "wire/record.h"

enum { DIGEST_LEN = 32 };

/*
 * Hashes every field of a create call except those about its delivery (key, uid, token, start).
 * `for_pool`: hashes only what a box is created from (manifest, workspace, runtime). A manifest
 * counts by content: line positions in its file do not matter.
 */
void digest_create(const struct record *r, bool for_pool, unsigned char ret[DIGEST_LEN]);

/*
 * Hashes the operation and every field of a call that runs something in a sandbox. Left out are the
 * fields about its delivery (key, id, uid, token) and its output (lossless, rows, columns).
 * Included are arguments, directory, input and environment; the hash does not reveal them.
 */
void digest_exec(enum operation_code op, const struct record *r, unsigned char ret[DIGEST_LEN]);

#endif
