/*
 * image/disk.h - an image as one read-only disk, for a virtual machine: STATE/images/disks/HEX,
 * where HEX is the image's digest. It is made once (`carrel image disk`), appears by rename(2), is
 * never written again, and goes with its image.
 */
#ifndef CARREL_IMAGE_DISK_H
#define CARREL_IMAGE_DISK_H

#include "base/arena.h"
#include "image/store.h"

/*
 * Opens the disk of an image below the state directory `state`, for reading. *ret_path: absolute,
 * in `arena`. Errors: ERROR_IMAGE_NOT_FOUND, reason "disk", if it was not made;
 * ERROR_BACKEND_FAILED; ERROR_NO_MEMORY.
 */
int image_disk_open(const char *state, const struct digest *image, struct arena *arena, int *ret_fd,
                    const char **ret_path, struct error *e);

/* Is there a disk of this image? */
bool image_disk_exists(const struct image_store *s, const struct digest *image);

/*
 * Makes the file `name` in `dir` the disk of an image. Errors: ERROR_BACKEND_FAILED.
 */
int image_disk_keep(const struct image_store *s, int dir, const char *name,
                    const struct digest *image, struct error *e);

/* Removes disks whose image is not in the store. The caller holds the store's lock, exclusively. */
void image_disk_sweep(const struct image_store *s);

#endif
