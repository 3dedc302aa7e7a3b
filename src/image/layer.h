/*
 * image/layer.h - unpacks one layer into the store, once.
 */
#ifndef CARREL_IMAGE_LAYER_H
#define CARREL_IMAGE_LAYER_H

#include <stdbool.h>

#include "image/store.h"
#include "image/unpacker.h"

/* What the store knows of a layer. */
struct layer_facts {
        uint64_t entries, bytes, left_out;
};

/*
 * Adds the layer `diff_id` from `archive` (open for reading, at its beginning; its own digest is
 * checked), unless it is there. If another import is unpacking it, waits for that one. The caller
 * holds the store's lock. *ret_is_new: it was unpacked now. Errors: those of unpacker_run();
 * ERROR_IMAGE_INVALID with reason "digest" if the archive is another layer. A failed or killed call
 * leaves no layer.
 */
int layer_add(struct image_store *s, const struct digest *diff_id, int archive,
              const struct image_limits *limits, const struct image_progress *progress,
              const char *label, struct layer_facts *ret, bool *ret_is_new, struct error *e);

/* Is it in the store? Fills `ret` if so. */
bool layer_exists(const struct image_store *s, const struct digest *diff_id,
                  struct layer_facts *ret);

/*
 * Erases a layer that no sandbox uses. The caller holds the store's lock, exclusively. 1: it is in
 * use; 0; or -1: ERROR_BACKEND_FAILED.
 */
int layer_erase(struct image_store *s, const char *hex, struct error *e);

/* Erases what killed imports left. The caller holds the store's lock, exclusively. */
void layer_sweep(struct image_store *s);

#endif
