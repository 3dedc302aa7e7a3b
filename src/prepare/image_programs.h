/*
 * prepare/image_programs.h - what a name is in a sandbox on an image, for rules for commands.
 */
#ifndef CARREL_PREPARE_IMAGE_PROGRAMS_H
#define CARREL_PREPARE_IMAGE_PROGRAMS_H

#include "host/programs.h"
#include "image/view.h"
#include "prepare/prepare.h"

/*
 * `programs` looks names up in the image of `record`, in the directories of `path`. What a mount or
 * a private place of the sandbox covers is not known, as far as `spec` and the image say where it
 * is. With `user: root`, what root has written is not known either, by c->upper; without that
 * nothing is known, unless c->is_first. `state`: the state directory. The caller holds the image
 * (image/hold.h), and ends with host_programs_fini(). Errors: those of image_view_open();
 * ERROR_NO_MEMORY.
 */
int image_programs_open(struct arena *arena, const char *state, const struct image_record *record,
                        const struct spec *spec, const struct prepare_command *c, const char *path,
                        struct host_programs *programs, struct error *e);

/*
 * The image as the sandbox sees it at its start, with what covers it. End with image_view_close().
 * Errors: as above; then it is closed.
 */
int image_programs_view(struct arena *arena, const char *state, const struct image_record *record,
                        const struct spec *spec, struct image_view *ret, struct error *e);

/* The value of PATH in the environment of an image; NULL: it sets none. */
const char *image_programs_path(const struct image_record *record);

#endif
