/*
 * prepare/norm_digest.h - the hash of what a sandbox is allowed, for a process that parses no JSON.
 */
#ifndef CARREL_PREPARE_NORM_DIGEST_H
#define CARREL_PREPARE_NORM_DIGEST_H

#include "base/error.h"
#include "spec/spec.h"

/*
 * The SHA-256, in hex, of the normal form as spec_norm_write() writes it, without spaces. Unlike
 * prepare_allowed_digest(), not of its canonical form. Errors: ERROR_NO_MEMORY.
 */
int prepare_norm_digest(const struct spec *spec, char ret[65], struct error *e);

#endif
