/*
 * cli/image_machine.h - boots the virtual machine of an image once, and saves it.
 */
#ifndef CARREL_CLI_IMAGE_MACHINE_H
#define CARREL_CLI_IMAGE_MACHINE_H

#include <stdint.h>

#include "image/store.h"

struct image_machine {
        const char *state; /* the state directory of the store */
        const char *host;  /* the host file; NULL: the usual one */
        const char *name;  /* of the image */
        uint64_t memory_mb;
};

/*
 * Saves the machine that a sandbox of this image without mounts and network has, starts one with
 * it, and keeps it then. Both are sandboxes as `carrel run` makes them, in children. Their messages
 * go to standard error. *ret_bytes: how long the file is. Errors: ERROR_BACKEND_FAILED; those of
 * image_saved_keep().
 */
int image_machine_save(const struct image_store *s, const struct image_machine *asked,
                       uint64_t *ret_bytes, struct error *e);

#endif
