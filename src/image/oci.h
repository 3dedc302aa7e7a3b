/*
 * image/oci.h - what the documents of an image say: OCI index, manifest and configuration, and
 * manifest.json of `docker save`.
 *
 * Pure: bytes in, structs out, allocated in the caller's arena. Texts come from strangers: they are
 * checked here, and never quoted in a message but through visible text.
 * Source: OCI image specification 1.0 and 1.1 (image-index.md, manifest.md, config.md); Docker
 * image specification 1.2 ("Combined Image JSON + Filesystem Changeset Format").
 */
#ifndef CARREL_IMAGE_OCI_H
#define CARREL_IMAGE_OCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "image/digest.h"

enum {
        OCI_LAYERS_MAX = 128, /* as many as Docker has */
        OCI_CHOICES_MAX = 256,
        OCI_WORDS_MAX = 1024, /* of environment, entry point and command, each */
        OCI_DOCUMENT_MAX = 4 << 20
};

/* A document or layer that another one names. */
struct oci_blob {
        struct digest digest;
        uint64_t size;    /* bytes */
        const char *path; /* docker save: beneath the archive; NULL: blobs/sha256/HEX */
};

struct oci_words {
        const char **items;
        size_t count;
};

/* A row of an index. */
struct oci_choice {
        struct oci_blob blob;
        bool is_index;
        const char *name;              /* org.opencontainers.image.ref.name, or NULL */
        const char *os, *architecture; /* or NULL */
};

struct oci_manifest {
        struct oci_blob config;
        struct oci_blob layers[OCI_LAYERS_MAX]; /* the lowest first */
        size_t layer_count;
        bool has_digests; /* docker save gives none for its layers */
        const char *name; /* docker save: the first tag; or NULL */
};

struct oci_config {
        struct digest diff_ids[OCI_LAYERS_MAX];
        size_t layer_count;
        const char *os, *architecture, *created, *cwd, *user; /* or NULL */
        struct oci_words environment, entrypoint, command;
};

/*
 * Each reads one document of `len` bytes. Errors: ERROR_IMAGE_INVALID with a reason: "syntax" (no
 * JSON, or not the form of the document), "digest" (not SHA-256), "layers" (too many, or another
 * number than the manifest), "media_type" (a layer of a form that cannot be unpacked), "platform"
 * (not for Linux); ERROR_NO_MEMORY. `ret` borrows from the arena.
 */
int oci_read_index(struct arena *arena, const char *bytes, size_t len, struct oci_choice *ret,
                   size_t *ret_count, struct error *e);
int oci_read_manifest(struct arena *arena, const char *bytes, size_t len, struct oci_manifest *ret,
                      struct error *e);
int oci_read_config(struct arena *arena, const char *bytes, size_t len, struct oci_config *ret,
                    struct error *e);
/* manifest.json of `docker save`; `wanted`: the tag to take, or NULL for the only image. */
int oci_read_saved(struct arena *arena, const char *bytes, size_t len, const char *wanted,
                   struct oci_manifest *ret, struct error *e);

/*
 * Chooses from an index the image for `architecture` ("amd64") whose name is `wanted` (NULL: any).
 * Errors: ERROR_IMAGE_INVALID with reason "platform", "name" (no such name), "ambiguous" (several;
 * the hint lists names).
 */
int oci_choose(const struct oci_choice *choices, size_t count, const char *wanted,
               const char *architecture, const struct oci_choice **ret, struct error *e);

/* The name of this machine's architecture in images: "amd64", "arm64", ...; else uname's. */
const char *oci_architecture(const char *machine);

#endif
