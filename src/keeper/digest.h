/*
 * keeper/digest.h - is what a call asks the same as what another asked?
 */
#ifndef CARREL_KEEPER_DIGEST_H
#define CARREL_KEEPER_DIGEST_H

#include <stdbool.h>

#include "api/operation.h"
#include "wire/record.h"

enum { DIGEST_LEN = 32 };

/*
 * A hash of every field of a create but those of its journey (key, uid, token, start). `for_pool`: only of what a box is made from
 * (manifest, workspace, runtime). A manifest is what it says: where in its file it said so does not count.
 */
void digest_create(const struct record *r, bool for_pool, unsigned char ret[DIGEST_LEN]);

/*
 * A hash of every field of a call that runs something in a sandbox, and of which call it is, but those of its journey (key, id, uid, token) and of how its
 * caller listens (lossless, rows, columns). Words, directory, input and environment are in it; none of them can be read out of it.
 */
void digest_exec(enum operation_code op, const struct record *r, unsigned char ret[DIGEST_LEN]);

#endif
