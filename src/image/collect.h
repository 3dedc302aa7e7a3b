/*
 * image/collect.h - removes images, and layers that no image has.
 */
#ifndef CARREL_IMAGE_COLLECT_H
#define CARREL_IMAGE_COLLECT_H

#include "base/arena.h"
#include "image/store.h"

struct image_collected {
        size_t images, layers, in_use; /* layers that stay because a sandbox uses them */
        uint64_t bytes;                /* of the layers' files, as long as they said */
        bool is_busy;                  /* an import runs: layers stay until the next time */
};

/*
 * Removes the records that no name means, then the layers that no record names and no sandbox uses,
 * then what killed imports left. Errors: ERROR_STATE_UNUSABLE (a damaged record: no layer is
 * removed), ERROR_BACKEND_FAILED, ERROR_NO_MEMORY.
 */
int image_collect(struct image_store *s, struct arena *arena, struct image_collected *ret,
                  struct error *e);

#endif
