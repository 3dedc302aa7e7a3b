/*
 * image/store.h - the images of one state directory.
 *
 *     STATE/images/lock          shared while something is added, exclusive while layers are
 * removed /names/NAME    text: HEX of the image that the name means; NAME as name_encode()
 *                 /records/HEX   an image: image/record.h; HEX is its configuration's digest
 *                 /layers/HEX/   an unpacked layer; HEX is its diff id. Locked (shared) while a
 *                                sandbox uses it, by whoever holds it open
 *                 /disks/HEX     an image as one disk: image/disk.h
 *                 /machines/HEX.KEY  its machine, saved: image/saved.h
 *                 /making/HEX    a layer that is being unpacked, locked by its maker
 *                 /making/HEX.d/ its files so far
 *
 * A name, a record and a layer appear by rename(2), after what they consist of is on the disk: what
 * has a name here is whole. What a killed import leaves is below `making`, and the next import of
 * this layer, or `prune`, erases it. All directories belong to the owner of the state directory and
 * are closed to others.
 *
 * Whiteouts in layers have the form that overlayfs reads with `userxattr`: a device 0:0, or
 * user.overlay.opaque on a directory.
 */
#ifndef CARREL_IMAGE_STORE_H
#define CARREL_IMAGE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/digest.h"

enum { IMAGE_NAME_MAX = 200, IMAGE_NAME_ROOM = IMAGE_NAME_MAX * 3 + 1 };

#define IMAGE_NAME_SHAPE                                                                  \
        "letters, digits and . _ - / :, beginning with a letter or a digit, at most 200 " \
        "characters, and is not the digest of an image"

/* below a layer's directory: its files */
#define IMAGE_LAYER_ROOT "root"

struct image_store {
        int dir, names, records, layers, making; /* directories */
        int lock;                                /* holds the lock, or -1 */
};

/*
 * Opens the store below the state directory `state`; creates what is missing. End with
 * image_store_close(). Errors: ERROR_STATE_UNUSABLE, with errno; reason "owner" if it belongs to
 * another user or is open to others.
 */
int image_store_open(const char *state, struct image_store *ret, struct error *e);
/*
 * The same for reading, and creates nothing. Errors: ERROR_IMAGE_NOT_FOUND if there is no store.
 */
int image_store_look(const char *state, struct image_store *ret, struct error *e);
void image_store_close(struct image_store *s);

/*
 * Takes the lock of the store: shared, or exclusive. With `waits` false, 1 if somebody else has it.
 * 0, or -1: ERROR_BACKEND_FAILED.
 */
int image_store_lock(struct image_store *s, bool is_exclusive, bool waits, struct error *e);
void image_store_unlock(struct image_store *s);

/* Is it the name of an image (IMAGE_NAME_SHAPE)? "python:3.12", "registry.example/team/app:v1" */
bool image_name_is_valid(const char *name);

/*
 * May an image get this name? Not one that reads as a digest ("a@sha256:HEX", "sha256:HEX", eight
 * or more hexadecimal digits): who writes a digest means that image.
 */
bool image_name_is_free(const char *name);

/*
 * The image that `name` means: a name, or at least 8 digits of its digest ("sha256:" may stand
 * before them). NAME@sha256:HEX is the image with this digest, whatever NAME means now. Errors:
 * ERROR_IMAGE_NOT_FOUND; reason "ambiguous" if several begin so.
 */
int image_store_find(const struct image_store *s, const char *name, struct digest *ret,
                     struct error *e);

/* Makes `name` mean this image, from now on. Errors: ERROR_STORAGE_FULL, ERROR_BACKEND_FAILED. */
int image_store_name(struct image_store *s, const char *name, const struct digest *image,
                     struct error *e);

/* Removes the name. Errors: ERROR_IMAGE_NOT_FOUND, ERROR_BACKEND_FAILED. */
int image_store_unname(struct image_store *s, const char *name, struct error *e);

/*
 * Calls `each` for every name, in no order, until it returns nonzero. `image` is what it means.
 * 0, what `each` returned, or -1: ERROR_BACKEND_FAILED.
 */
int image_store_names(const struct image_store *s,
                      int (*each)(void *ctx, const char *name, const struct digest *image),
                      void *ctx, struct error *e);

/*
 * Writes a whole file below one of the store's directories, by rename(2), after its bytes are on
 * the disk. Errors: ERROR_STORAGE_FULL, ERROR_BACKEND_FAILED.
 */
int image_store_write(const struct image_store *s, int dir, const char *name, const char *bytes,
                      size_t len, struct error *e);

#endif
