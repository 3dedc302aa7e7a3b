/*
 * image/hold.h - an image as a sandbox uses it: found, read, and held, so that no `image rm` and no
 * `prune` takes it.
 *
 * Each layer is locked through the descriptor that is given. The lock belongs to the open file, so
 * whoever gets a copy of the descriptor holds it too: the maker keeps it while the sandbox lives.
 */
#ifndef CARREL_IMAGE_HOLD_H
#define CARREL_IMAGE_HOLD_H

#include "image/record.h"

struct image_held {
        struct image_record record;
        int record_fd;                     /* locked */
        int layers[OCI_LAYERS_MAX];        /* locked directories of layers, the lowest first */
        const char *paths[OCI_LAYERS_MAX]; /* of the roots below them, absolute; the arena's */
        size_t layer_count;                /* how many of `layers` are open */
};

/*
 * Finds the image `name` (as image_store_find()) below the state directory `state`, and holds its
 * record. End with image_let_go(), also after a failure. Errors: those of image_store_look(),
 * image_store_find() and record_read().
 */
int image_hold(const char *state, const char *name, struct arena *arena, struct image_held *ret,
               struct error *e);

/*
 * Holds the layers too. A layer that the image has twice is given once. Errors:
 * ERROR_IMAGE_NOT_FOUND, reason "layer", if one is missing or just being removed; ERROR_NO_MEMORY.
 */
int image_hold_layers(const char *state, struct arena *arena, struct image_held *held,
                      struct error *e);
void image_let_go_layers(struct image_held *held);
void image_let_go(struct image_held *held);

#endif
