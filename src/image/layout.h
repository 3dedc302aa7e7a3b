/*
 * image/layout.h - an image as a directory of documents and layers: an OCI layout, or an unpacked
 * `docker save`.
 *
 * The directory may change while it is read, and its names may be links. So each file is opened
 * once, beneath the directory, and copied or read whole while it is hashed; only the copy is used.
 * Source: OCI image specification, image-layout.md.
 */
#ifndef CARREL_IMAGE_LAYOUT_H
#define CARREL_IMAGE_LAYOUT_H

#include <stdbool.h>

#include "base/arena.h"
#include "image/oci.h"

struct layout {
        int dir;     /* borrowed */
        bool is_oci; /* has `oci-layout`; otherwise manifest.json */
};

/* Does `dir` hold an image? Fills `ret` if so. */
bool layout_open(int dir, struct layout *ret);

/*
 * Reads manifest and configuration of the image `ref` (NULL: the only one). Errors:
 * ERROR_IMAGE_INVALID with a reason of image/oci.h, "missing" (a file), "digest", "size".
 */
int layout_read(const struct layout *l, struct arena *arena, const char *ref,
                struct oci_manifest *ret_manifest, struct oci_config *ret_config, struct error *e);

/*
 * Copies a layer to `to` (an empty file) and checks size and digest, if `has_digest`. `bytes_max`:
 * more is refused with reason "size". Errors: as above; ERROR_STORAGE_FULL.
 */
int layout_copy(const struct layout *l, const struct oci_blob *layer, bool has_digest, int to,
                uint64_t bytes_max, struct error *e);

#endif
