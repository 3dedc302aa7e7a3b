/*
 * cli/image_pull.h - fetches an image from a registry, with skopeo.
 */
#ifndef CARREL_CLI_IMAGE_PULL_H
#define CARREL_CLI_IMAGE_PULL_H

#include <stdbool.h>

#include "base/error.h"
#include "image/store.h"

enum { IMAGE_PULL_ROOM = 40 };

struct image_pull {
        const char *name;   /* "python:3.12"; "docker://" may stand before it */
        const char *policy; /* the download runs behind `carrel gate --policy` with it; or NULL */
        bool is_plain;      /* the registry may speak HTTP, or have a certificate nobody signed */
        bool is_shown;      /* skopeo's progress goes to standard error */
};

/* The name without "docker://". Errors: ERROR_INVALID_ARGUMENT, if it is no name of an image. */
int image_pull_name(const char *asked, const char **ret, struct error *e);

/*
 * Downloads it, in OCI layout, into a new directory below `s->making`, whose name is written to
 * `out`. The caller holds the lock of the store; it imports and erases the directory, also after a
 * failure (`out` is empty before there is one). Errors: ERROR_CAPABILITY_UNAVAILABLE (reason
 * "skopeo": it is not installed); ERROR_IMAGE_PULL_FAILED with the last line that skopeo printed;
 * ERROR_BACKEND_FAILED. Source: skopeo-copy(1).
 */
int image_pull(const struct image_store *s, const struct image_pull *asked,
               char out[IMAGE_PULL_ROOM], struct error *e);

#endif
