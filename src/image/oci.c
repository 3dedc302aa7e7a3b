/*
 * image/oci.c - what the documents of an image say.
 *
 * Room: image (joining). Touches: nothing.
 * Theory: each document is one JSON object; what is not known in it is left alone, as the
 * specification asks, and what decides about bytes (digests, sizes, forms of layers) must be there
 * in exactly one form.
 */
#include "image/oci.h"

#include <stdio.h>
#include <string.h>

#include "text/json.h"

#define REF_NAME "org.opencontainers.image.ref.name"

static const struct text_limits document_limits = { OCI_DOCUMENT_MAX, 32, 1 << 16 };

/* -- forms ------------------------------------------------------------------------------------- */

/* Every layer that is a tar file; what a registry does not hand out is not among them. */
static const char *const layer_forms[] = {
        "application/vnd.oci.image.layer.v1.tar",
        "application/vnd.oci.image.layer.v1.tar+gzip",
        "application/vnd.oci.image.layer.v1.tar+zstd",
        "application/vnd.docker.image.rootfs.diff.tar",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "application/vnd.docker.image.rootfs.diff.tar.zstd",
};
static const char *const index_forms[] = {
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
};

static bool
is_one_of(const char *text, const char *const *forms, size_t count)
{
        for (size_t i = 0; text && i < count; i++)
                if (strcmp(text, forms[i]) == 0)
                        return true;
        return false;
}

#define IS_ONE_OF(text, forms) is_one_of((text), (forms), sizeof(forms) / sizeof *(forms))

static int
invalid(struct error *e, const char *reason, const char *what)
{
        return fail_at(e, ERROR_IMAGE_INVALID, NULL, reason, "%s", what);
}

/* -- parts of a document ----------------------------------------------------------------------- */

static int
read_document(struct arena *arena, const char *bytes, size_t len, enum node_kind kind,
              const char *what, const struct node **ret, struct error *e)
{
        if (json_read(arena, bytes, len, &document_limits, ret, e) < 0) {
                if (e->code == ERROR_NO_MEMORY)
                        return -1;
                e->code = ERROR_IMAGE_INVALID;
                return error_wrap(e, "%s of the image", what);
        }
        if ((*ret)->kind == kind)
                return 0;
        return fail_at(e, ERROR_IMAGE_INVALID, NULL, "syntax", "%s of the image is not a JSON %s",
                       what, kind == NODE_MAP ? "object" : "array");
}

static const char *
text_of(const struct node *map, const char *key)
{
        const struct node *n = node_find(map, key);

        return n && n->kind == NODE_STRING && n->len > 0 ? n->text : NULL;
}

static const struct node *
list_of(const struct node *map, const char *key)
{
        const struct node *n = node_find(map, key);

        return n && n->kind == NODE_LIST ? n : NULL;
}

static int
read_blob(const struct node *n, struct oci_blob *ret, struct error *e)
{
        const struct node *size = node_find(n, "size");

        if (!digest_read(text_of(n, "digest"), &ret->digest))
                return invalid(e, "digest",
                               "the image names a part without a SHA-256 digest: Carrel checks no "
                               "other");
        if (!size || size->kind != NODE_INT || size->integer < 0)
                return invalid(e, "syntax", "the image names a part without its size");
        ret->size = (uint64_t)size->integer;
        return 0;
}

static int
read_words(struct arena *arena, const struct node *list, struct oci_words *ret, struct error *e)
{
        if (!list)
                return 0;
        if (list->len > OCI_WORDS_MAX)
                return invalid(e, "syntax", "the image's configuration has too many words");
        ret->items = arena_array(arena, const char *, list->len + 1);
        if (!ret->items)
                return fail(e, ERROR_NO_MEMORY, "no memory for an image's configuration");
        node_each(word, list)
        {
                if (word->kind != NODE_STRING)
                        return invalid(e, "syntax",
                                       "a word of the image's configuration is no text");
                ret->items[ret->count++] = word->text;
        }
        return 0;
}

/* -- the index --------------------------------------------------------------------------------- */

static int
read_choice(const struct node *n, struct oci_choice *ret, struct error *e)
{
        const struct node *platform = node_find(n, "platform");

        ret->is_index = IS_ONE_OF(text_of(n, "mediaType"), index_forms);
        ret->name = text_of(node_find(n, "annotations"), REF_NAME);
        ret->os = text_of(platform, "os");
        ret->architecture = text_of(platform, "architecture");
        return read_blob(n, &ret->blob, e);
}

int
oci_read_index(struct arena *arena, const char *bytes, size_t len, struct oci_choice *ret,
               size_t *ret_count, struct error *e)
{
        const struct node *root, *manifests;

        *ret_count = 0;
        if (read_document(arena, bytes, len, NODE_MAP, "the index", &root, e) < 0)
                return -1;
        manifests = list_of(root, "manifests");
        if (!manifests || manifests->len == 0)
                return invalid(e, "syntax", "the index names no image");
        if (manifests->len > OCI_CHOICES_MAX)
                return invalid(e, "syntax", "the index names more than 256 images");
        node_each(n, manifests)
        {
                if (n->kind != NODE_MAP)
                        return invalid(e, "syntax", "the index names an image that is no object");
                ret[*ret_count] = (struct oci_choice){ .os = NULL };
                if (read_choice(n, &ret[(*ret_count)++], e) < 0)
                        return -1;
        }
        return 0;
}

static bool
is_for(const struct oci_choice *c, const char *architecture)
{
        return (!c->os || strcmp(c->os, "linux") == 0) &&
               (!c->architecture || strcmp(c->architecture, architecture) == 0);
}

static bool
has_name(const struct oci_choice *c, const char *wanted)
{
        return !wanted || (c->name && strcmp(c->name, wanted) == 0);
}

static void
hint_names(struct error *e, const struct oci_choice *choices, size_t count)
{
        size_t used = 0;
        char list[300] = "";

        for (size_t i = 0; i < count && used < sizeof list - 80; i++)
                if (choices[i].name)
                        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.60s",
                                                 used > 0 ? ", " : "", choices[i].name);
        if (used > 0)
                error_hint(e, "Choose one with --ref NAME. Its names are: %s", list);
}

int
oci_choose(const struct oci_choice *choices, size_t count, const char *wanted,
           const char *architecture, const struct oci_choice **ret, struct error *e)
{
        size_t named = 0, fit = 0;

        *ret = NULL;
        for (size_t i = 0; i < count; i++) {
                if (!has_name(&choices[i], wanted))
                        continue;
                named++;
                if (!is_for(&choices[i], architecture))
                        continue;
                /* the same image twice is no choice */
                fit += !*ret || !digest_equals(&(*ret)->blob.digest, &choices[i].blob.digest);
                *ret = &choices[i];
        }
        if (fit == 1)
                return 0;
        if (named == 0)
                (void)fail_at(e, ERROR_IMAGE_INVALID, NULL, "name", "no image in it has this name");
        else if (fit == 0)
                (void)fail_at(e, ERROR_IMAGE_INVALID, NULL, "platform",
                              "no image in it is for linux/%s, this machine", architecture);
        else
                (void)fail_at(e, ERROR_IMAGE_INVALID, NULL, "ambiguous",
                              "it holds %zu images for this machine", fit);
        hint_names(e, choices, count);
        return -1;
}

const char *
oci_architecture(const char *machine)
{
        static const char *const names[][2] = {
                { "x86_64", "amd64" }, { "aarch64", "arm64" },   { "i686", "386" },
                { "armv7l", "arm" },   { "riscv64", "riscv64" }, { "ppc64le", "ppc64le" },
                { "s390x", "s390x" },
        };

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (strcmp(machine, names[i][0]) == 0)
                        return names[i][1];
        return machine;
}

/* -- the manifest ------------------------------------------------------------------------------ */

static int
read_layer(const struct node *n, struct oci_blob *ret, struct error *e)
{
        const char *form = n->kind == NODE_MAP ? text_of(n, "mediaType") : NULL;

        if (!IS_ONE_OF(form, layer_forms))
                return fail_at(e, ERROR_IMAGE_INVALID, NULL, "media_type",
                               "a layer of the image is of a form that cannot be unpacked: only "
                               "tar files, plain or compressed with gzip or zstd, can");
        return read_blob(n, ret, e);
}

int
oci_read_manifest(struct arena *arena, const char *bytes, size_t len, struct oci_manifest *ret,
                  struct error *e)
{
        const struct node *root, *layers;

        *ret = (struct oci_manifest){ .has_digests = true };
        if (read_document(arena, bytes, len, NODE_MAP, "the manifest", &root, e) < 0)
                return -1;
        layers = list_of(root, "layers");
        if (!layers || layers->len == 0 || !node_find(root, "config"))
                return invalid(e, "syntax", "the manifest of the image names no layers");
        if (layers->len > OCI_LAYERS_MAX)
                return invalid(e, "layers", "the image has more than 128 layers");
        if (read_blob(node_find(root, "config"), &ret->config, e) < 0)
                return -1;
        node_each(n, layers) if (read_layer(n, &ret->layers[ret->layer_count++], e) < 0) return -1;
        return 0;
}

/* -- the configuration ------------------------------------------------------------------------- */

static int
read_diff_ids(const struct node *root, struct oci_config *ret, struct error *e)
{
        const struct node *ids = list_of(node_find(root, "rootfs"), "diff_ids");

        if (!ids || ids->len == 0 || ids->len > OCI_LAYERS_MAX)
                return invalid(e, "layers",
                               "the image's configuration names no layers, or more "
                               "than 128");
        node_each(id, ids)
        {
                if (id->kind != NODE_STRING ||
                    !digest_read(id->text, &ret->diff_ids[ret->layer_count++]))
                        return invalid(e, "digest",
                                       "the image's configuration names a layer without a SHA-256 "
                                       "digest: Carrel checks no other");
        }
        return 0;
}

int
oci_read_config(struct arena *arena, const char *bytes, size_t len, struct oci_config *ret,
                struct error *e)
{
        const struct node *root, *run;

        *ret = (struct oci_config){ .layer_count = 0 };
        if (read_document(arena, bytes, len, NODE_MAP, "the configuration", &root, e) < 0 ||
            read_diff_ids(root, ret, e) < 0)
                return -1;
        ret->os = text_of(root, "os");
        ret->architecture = text_of(root, "architecture");
        ret->created = text_of(root, "created");
        if (ret->os && strcmp(ret->os, "linux") != 0)
                return invalid(e, "platform", "the image is not for Linux");
        run = node_find(root, "config");
        ret->cwd = text_of(run, "WorkingDir");
        ret->user = text_of(run, "User");
        return read_words(arena, list_of(run, "Env"), &ret->environment, e) < 0 ||
                               read_words(arena, list_of(run, "Entrypoint"), &ret->entrypoint, e) <
                                       0 ||
                               read_words(arena, list_of(run, "Cmd"), &ret->command, e) < 0
                       ? -1
                       : 0;
}

/* -- docker save ------------------------------------------------------------------------------- */

static const struct node *
find_tagged(const struct node *root, const char *wanted)
{
        node_each(image, root)
        {
                const struct node *tags = list_of(image, "RepoTags");

                if (!wanted)
                        return root->len == 1 ? image : NULL;
                if (tags)
                        node_each(tag, tags) if (node_is_text(tag, wanted)) return image;
        }
        return NULL;
}

/* "HEX.json" or "blobs/sha256/HEX": then its digest is known. */
static bool
digest_in_name(const char *path, struct digest *ret)
{
        const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
        char hex[DIGEST_HEX] = "";
        size_t len = strcspn(last, ".");

        if (len != (size_t)DIGEST_HEX - 1)
                return false;
        memcpy(hex, last, len);
        return digest_read_hex(hex, ret);
}

static int
read_saved_image(const struct node *image, struct oci_manifest *ret, struct error *e)
{
        const struct node *layers = list_of(image, "Layers"), *tags = list_of(image, "RepoTags");

        ret->config.path = text_of(image, "Config");
        if (!layers || layers->len == 0 || layers->len > OCI_LAYERS_MAX)
                return invalid(e, "layers", "manifest.json names no layers, or more than 128");
        if (!ret->config.path || !digest_in_name(ret->config.path, &ret->config.digest))
                return invalid(e, "digest", "manifest.json names a configuration without a digest");
        if (tags && tags->first && tags->first->kind == NODE_STRING)
                ret->name = tags->first->text;
        node_each(layer, layers)
        {
                if (layer->kind != NODE_STRING || layer->len == 0)
                        return invalid(e, "syntax", "manifest.json names a layer that is no text");
                ret->layers[ret->layer_count++].path = layer->text;
        }
        return 0;
}

int
oci_read_saved(struct arena *arena, const char *bytes, size_t len, const char *wanted,
               struct oci_manifest *ret, struct error *e)
{
        const struct node *root, *image;

        *ret = (struct oci_manifest){ .has_digests = false };
        if (read_document(arena, bytes, len, NODE_LIST, "manifest.json", &root, e) < 0)
                return -1;
        image = find_tagged(root, wanted);
        if (image)
                return read_saved_image(image, ret, e);
        (void)fail_at(e, ERROR_IMAGE_INVALID, NULL, wanted ? "name" : "ambiguous",
                      wanted ? "no image in it has this name" : "it holds %zu images", root->len);
        if (!wanted)
                error_hint(e, "Choose one by its tag: --ref NAME:TAG");
        return -1;
}
