/*
 * prepare/digest.h - one number for everything that a sandbox is allowed.
 */
#ifndef CARREL_PREPARE_DIGEST_H
#define CARREL_PREPARE_DIGEST_H

#include "base/error.h"
#include "spec/spec.h"

enum { PREPARE_DIGEST_TEXT = 65 };

/*
 * The SHA-256, in hex, of the canonical normal form of the manifest: what `carrel check --json`
 * prints as `norm`, with the options of the call applied. Errors: ERROR_NO_MEMORY, those of
 * jcs_write().
 */
int prepare_allowed_digest(const struct spec *spec, char ret[PREPARE_DIGEST_TEXT], struct error *e);

#endif
