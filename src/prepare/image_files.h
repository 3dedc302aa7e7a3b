/*
 * prepare/image_files.h - files of a sandbox's image, by their paths inside, for what an approval
 * binds.
 */
#ifndef CARREL_PREPARE_IMAGE_FILES_H
#define CARREL_PREPARE_IMAGE_FILES_H

#include <stddef.h>

#include "prepare/prepare.h"

enum { IMAGE_FILE_HEX = 65 };

enum image_file {
        IMAGE_FILE_FOUND,
        IMAGE_FILE_NONE,   /* a directory of the image, or nothing */
        IMAGE_FILE_UNKNOWN /* covered by a mount or a private place, or not readable */
};

struct image_files;

/*
 * NULL: the sandbox is on no image, its commands may replace files of it (user: root), or it cannot
 * be read. In `arena`; end with image_files_close(), which accepts NULL.
 */
struct image_files *image_files_open(struct arena *arena, const struct prepared *p);
void image_files_close(struct image_files *f);

/*
 * Is this absolute path a regular file of the image? Then `hex` is its SHA-256 if it has at most
 * *most bytes, which are taken from *most, or else "". `f` may be NULL: nothing is known.
 */
enum image_file image_files_digest(struct image_files *f, const char *path, size_t *most,
                                   char hex[IMAGE_FILE_HEX]);

#endif
