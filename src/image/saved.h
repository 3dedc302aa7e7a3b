/*
 * image/saved.h - machines of an image that were saved when their kernel had started
 * (wire/saved.h): STATE/images/machines/IMAGE.KEY, where IMAGE is the image's digest, and KEY that
 * of all else that the machine was made of (prepare/saved.h). One appears by rename(2), is never
 * written again, and goes with its image.
 */
#ifndef CARREL_IMAGE_SAVED_H
#define CARREL_IMAGE_SAVED_H

#include "base/arena.h"
#include "image/store.h"

/*
 * Opens one below the state directory `state`, for reading. *ret_path: absolute, in `arena`.
 * *ret_khz: of its head. False: there is none, or it is not whole.
 */
bool image_saved_open(const char *state, const struct digest *image, const struct digest *key,
                      struct arena *arena, int *ret_fd, const char **ret_path, uint32_t *ret_khz);

/* A file without a name: what is killed leaves nothing. Errors: ERROR_BACKEND_FAILED. */
int image_saved_new(const struct image_store *s, int *ret_fd, struct error *e);

/* Writes its head: nothing is saved there yet. 0 or -errno. */
int image_saved_begin(int fd, const struct digest *image, const struct digest *key,
                      uint32_t tsc_khz);

/*
 * Gives a file of image_saved_new() its name, in place of an older one. *ret_bytes: its length.
 * Errors: ERROR_BACKEND_FAILED, also if it is not whole; ERROR_STORAGE_FULL.
 */
int image_saved_keep(const struct image_store *s, int fd, uint64_t *ret_bytes, struct error *e);

/*
 * Removes those of one image; NULL: those whose image is not in the store (the caller holds the
 * store's lock, exclusively). Returns how many.
 */
size_t image_saved_remove(const struct image_store *s, const struct digest *image);

#endif
