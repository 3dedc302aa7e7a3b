/*
 * prepare/rootfs.h - the image of a sandbox: found and pinned when it is judged, its layers opened
 * when it is planned.
 */
#ifndef CARREL_PREPARE_ROOTFS_H
#define CARREL_PREPARE_ROOTFS_H

#include "image/hold.h"
#include "plan/request.h"
#include "prepare/host.h"
#include "sources/sources.h"

struct rootfs {
        struct image_held held;         /* its record is locked */
        const char *ref;                /* NAME@sha256:HEX */
        const char *state;              /* the directory that holds it */
        const struct node *config;      /* of the manifest's tree, before the image was pinned */
        const struct plan_rootfs *plan; /* after rootfs_open() */
};

/*
 * If the spec names an image: holds it, and gives a spec that names it by its digest, so that the
 * name may mean another image later. `ret` is NULL without an image. In `arena`. End with
 * rootfs_let_go(), also after a failure. Errors: those of image_hold(); ERROR_IMAGE_NOT_FOUND,
 * reason "no_state"; ERROR_CONFIG_INVALID, reason "image", for what needs the host's programs.
 */
int rootfs_take(struct arena *arena, const struct prepare_host *host, bool has_runtime,
                const struct spec **spec, struct rootfs **ret, struct error *e);
void rootfs_let_go(struct rootfs *r);

/*
 * Adds its record and layers to `sources`, after all others, and sets r->plan. `arena`: that of the
 * plan. Errors: those of image_hold_layers() and sources_add_layer().
 */
int rootfs_open(struct arena *arena, const struct prepare_host *host, struct rootfs *r,
                struct sources *sources, struct error *e);

/*
 * The same with the image's disk in place of its layers. Errors: ERROR_IMAGE_NOT_FOUND, reason
 * "disk", with the command that makes it.
 */
int rootfs_open_disk(struct arena *arena, const struct prepare_host *host, struct rootfs *r,
                     struct sources *sources, struct error *e);

/* A copy of the manifest's tree that names the image by its digest. NULL: no memory. */
const struct node *rootfs_pin(struct arena *arena, const struct rootfs *r, const struct node *tree);

/* Does the name in the manifest still mean this image? */
bool rootfs_is_current(const struct prepare_host *host, const struct rootfs *r);

/*
 * The image's entry point, then its command: *ret_count is 0 if it has none. In `arena`. Errors:
 * ERROR_NO_MEMORY.
 */
int rootfs_command(struct arena *arena, const struct rootfs *r, char ***ret, size_t *ret_count,
                   struct error *e);

#endif
