/*
 * ref/resolve.h - from a manifest that only points to the manifest it points at.
 *
 * A reader fetches the bytes behind a target: the disk in a real run, a map in a conformance case.
 * What comes back must be a sandbox itself: references are followed once, so there is nothing to go
 * round in.
 */
#ifndef CARREL_REF_RESOLVE_H
#define CARREL_REF_RESOLVE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/findings.h"
#include "manifest/manifest.h"
#include "spec/reference.h"

struct ref_reader {
        /* Gives bytes that live as long as `arena`. Errors: ERROR_REF_UNRESOLVABLE not_found,
         * outside_workspace, acl_denied or wrong_kind, ERROR_MANIFEST_SYNTAX "too_large",
         * ERROR_NO_MEMORY. */
        int (*read)(void *ctx, struct arena *arena, const struct reference *target,
                    const char **ret_bytes, size_t *ret_len, struct error *e);
        void *ctx;
};

/*
 * Gives the manifest behind `m`; one that already holds its block is given back as it is. The
 * parent's runner limits stay in force. Errors and warnings go to `findings` as well. Errors:
 * ERROR_REF_UNRESOLVABLE with every reason of AIP-36, and those of manifest_read() for the file
 * pointed at.
 */
int ref_resolve(struct arena *arena, const struct manifest *m, const struct ref_reader *reader,
                struct manifest *ret, struct findings *findings, struct error *e);

#endif
