/*
 * cli/image_disk.h - makes the disk of an image, with mkfs.erofs.
 */
#ifndef CARREL_CLI_IMAGE_DISK_H
#define CARREL_CLI_IMAGE_DISK_H

#include "base/arena.h"
#include "image/store.h"

enum { IMAGE_DISK_ROOM = 40 };
#define IMAGE_DISK_FILE "disk"

/*
 * Writes the file IMAGE_DISK_FILE into a new directory below `s->making`, whose name is written to
 * `out`. The caller holds the lock of the store; it keeps the file, and erases the directory, also
 * after a failure (`out` is empty before there is one). Errors: ERROR_CAPABILITY_UNAVAILABLE
 * (reason "mkfs": it is not installed; "user_namespaces"); those of record_read();
 * ERROR_BACKEND_FAILED. Source: mkfs.erofs(1).
 */
int image_disk_make(const struct image_store *s, struct arena *arena, const struct digest *image,
                    char out[IMAGE_DISK_ROOM], struct error *e);

#endif
