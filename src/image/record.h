/*
 * image/record.h - what the store knows of an image: a packed tree in STATE/images/records/HEX.
 */
#ifndef CARREL_IMAGE_RECORD_H
#define CARREL_IMAGE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "image/oci.h"
#include "image/store.h"
#include "text/limits.h"

struct image_record {
        struct digest id;                     /* of its configuration */
        struct digest layers[OCI_LAYERS_MAX]; /* diff ids, the lowest first */
        size_t layer_count;
        uint64_t bytes, entries;                                       /* of all layers */
        uint64_t imported_ms;                                          /* wall clock */
        const char *os, *architecture, *created, *cwd, *user, *source; /* or NULL */
        struct oci_words environment, entrypoint, command;
};

enum { RECORD_MAX = 2 * OCI_DOCUMENT_MAX };
extern const struct text_limits record_limits;

/* Members of a record, ended by a row without a key: texts, and lists of words. */
struct record_row {
        const char *key;
        size_t offset; /* in struct image_record: a const char *, or a struct oci_words */
};
extern const struct record_row record_texts[], record_lists[];

/* Writes it. Its layers are in the store. Errors: those of image_store_write(). */
int record_write(struct image_store *s, const struct image_record *r, struct error *e);

/*
 * Reads the record of an image; texts are allocated in `arena`. Errors: ERROR_IMAGE_NOT_FOUND;
 * ERROR_STATE_UNUSABLE if it is damaged.
 */
int record_read(const struct image_store *s, struct arena *arena, const struct digest *id,
                struct image_record *ret, struct error *e);

#endif
