/*
 * image/view.h - the files of an image as a sandbox sees them at its start: all layers as one root,
 * for reading, without a mount.
 *
 * Whiteouts and opaque directories count, and symbolic links end inside the root. What covers a
 * part of the image in a sandbox (a mount, a private directory) is named with image_view_cover():
 * what is there is not known here.
 */
#ifndef CARREL_IMAGE_VIEW_H
#define CARREL_IMAGE_VIEW_H

#include <sys/stat.h>

#include "image/record.h"

enum { IMAGE_VIEW_PATH = 4096 }; /* bytes of a path, with the NUL */

enum image_found {
        IMAGE_FOUND,
        IMAGE_ABSENT,
        IMAGE_UNKNOWN /* covered, written above, a loop of links, or not readable */
};

struct image_view {
        struct arena *arena;                /* borrowed */
        int store, upper;                   /* the directory of all layers; or -1 */
        const char *layers[OCI_LAYERS_MAX]; /* below it, the highest first */
        size_t layer_count;
        struct image_directory *root; /* those that were walked, in `arena` */
        struct image_cover *covers;
};

/*
 * Opens the layers of `record` below the state directory `state`; whoever calls holds the image
 * (image/hold.h). End with image_view_close(), also after a failure. Errors: those of
 * image_store_look(); ERROR_IMAGE_NOT_FOUND, reason "layer"; ERROR_NO_MEMORY.
 */
int image_view_open(struct arena *arena, const char *state, const struct image_record *record,
                    struct image_view *ret, struct error *e);
void image_view_close(struct image_view *v);

/*
 * From now on nothing is known about this absolute path, about what is beneath it, and about the
 * place in the image that links on the way to it lead to. False: no memory.
 */
bool image_view_cover(struct image_view *v, const char *path);

/*
 * From now on nothing is known about what was written above the image, to the upper directory
 * `directory` of an overlay: files and directories that are new, changed or removed there, and what
 * is beneath them. It is looked at again for each path. 0 or -1.
 */
int image_view_upper(struct image_view *v, int directory);

/*
 * What an absolute path is, with every link resolved: its path without links (if `real` is not
 * NULL), and the state of the file in its layer. Device and inode are those of one file of the
 * image: hard links of a layer are equal, a copy is not.
 */
enum image_found image_view_find(struct image_view *v, const char *path, char real[IMAGE_VIEW_PATH],
                                 struct stat *ret);

/* Opens the regular file that a path is, for reading. IMAGE_ABSENT: it is none. */
enum image_found image_view_read(struct image_view *v, const char *path, int *ret_fd,
                                 struct stat *ret);

/*
 * Calls `visit` for the names in a directory, in no order, some of them more than once. A name
 * that a higher layer removes can be among them: image_view_find() says whether it exists.
 */
void image_view_each(struct image_view *v, const char *path,
                     void (*visit)(void *context, const char *name), void *context);

#endif
