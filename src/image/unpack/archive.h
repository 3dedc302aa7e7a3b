/*
 * image/unpack/archive.h - reads a tar file, compressed or not, and puts its entries in place.
 */
#ifndef CARREL_IMAGE_UNPACK_ARCHIVE_H
#define CARREL_IMAGE_UNPACK_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "image/unpack/target.h"

enum { ARCHIVE_DIGEST = 32 };

struct archive_result {
        uint8_t digest[ARCHIVE_DIGEST]; /* SHA-256 of the tar file without compression */
        char why[160];                  /* after a refusal "archive": what the reader says */
};

/*
 * Unpacks the tar file `source` (readable from its current position to its end; plain, gzip or
 * zstd) with `target`, which is open. `step` is called with `ctx` after each MiB or so of the
 * tar file. Returns 0, or -1 with target->refusal; reason "archive" if it is no tar file, is cut,
 * or its compression is damaged.
 */
int archive_unpack(int source, struct target *target, void (*step)(void *ctx), void *ctx,
                   struct archive_result *ret);

/*
 * Reads `source` as far as needed to see what it holds. *ret_is_image: the documents of an image
 * (manifest.json, oci-layout or index.json at the top); otherwise it is taken for a root. `target`
 * is only refused with. 0 or -1, as above.
 */
int archive_look(int source, struct target *target, struct archive_result *ret, bool *ret_is_image);

/* Hashes `source` without its compression; `target` is only refused with. 0 or -1, as above. */
int archive_hash(int source, struct target *target, void (*step)(void *ctx), void *ctx,
                 struct archive_result *ret);

#endif
