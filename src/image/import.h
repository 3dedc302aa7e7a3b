/*
 * image/import.h - adds an image to the store.
 *
 *     OCI layout     a directory with `oci-layout`: every digest and size is checked
 *     archive        `docker save`, or an OCI layout as a tar file; plain, gzip or zstd: the same;
 * of docker save, what it has: the configuration's and each layer's digest root archive   a tar
 * file of a root directory: it gets its digest here root           a directory with bin, etc, usr
 * or the like: it gets its digest here, from what it contains (image/unpack/tree.h)
 *
 * Documents are read by this process, with limits; archives and roots by carrel-unpack
 * alone.
 */
#ifndef CARREL_IMAGE_IMPORT_H
#define CARREL_IMAGE_IMPORT_H

#include "image/record.h"
#include "image/unpacker.h"

struct image_import {
        const char *source; /* path of a directory or file */
        const char *origin; /* what the record says of where it came from; NULL: the source */
        const char *name;   /* what the image is called here; NULL: what the source says */
        const char *ref;    /* which one, if the source holds several; or NULL */
        struct image_limits limits;
        struct image_progress progress;
};

struct image_imported {
        char name[IMAGE_NAME_MAX + 1];
        struct digest id;
        size_t layers, new_layers;
        uint64_t bytes, left_out; /* of all layers; entries that were left out */
};

/*
 * Imports. The name then means this image. Errors: ERROR_FILE_UNREADABLE (the source),
 * ERROR_IMAGE_INVALID with a reason of image/oci.h, image/unpack/target.h, tree.h or "digest",
 * "size", "missing", "name", "document"; ERROR_STORAGE_FULL; ERROR_BACKEND_FAILED. After a failure
 * the store is as before, but for layers that were complete: those are used by a next try, or
 * pruned.
 */
int image_import(struct image_store *s, struct arena *arena, const struct image_import *asked,
                 struct image_imported *ret, struct error *e);

#endif
