/*
 * image/layout.c - an image as a directory of documents and layers.
 *
 * Room: image (joining). Touches: fd (files beneath one directory, read only).
 */
#include "image/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/scoped.h"

enum { BLOB_PATH = 96, NESTED_MAX = 3 };

static int
open_beneath(int dir, const char *path)
{
        struct open_how how = { .flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                                .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };

        return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

/* A regular file; a pipe or device would wait or never end. */
static int
open_file(const struct layout *l, const char *path, int *ret, struct error *e)
{
        struct stat st;

        *ret = open_beneath(l->dir, path);
        if (*ret < 0 && (errno == ENOENT || errno == EXDEV || errno == ELOOP))
                return fail_at(e, ERROR_IMAGE_INVALID, NULL, "missing",
                               "the image has no file %.150s", path);
        if (*ret < 0 || fstat(*ret, &st) < 0)
                return fail_sys(e, ERROR_FILE_UNREADABLE, errno, "reading %.150s of the image",
                                path);
        if (!S_ISREG(st.st_mode))
                return fail_at(e, ERROR_IMAGE_INVALID, NULL, "missing",
                               "%.150s of the image is not a regular file", path);
        return 0;
}

static const char *
blob_path(const struct oci_blob *blob, char out[BLOB_PATH])
{
        char hex[DIGEST_HEX];

        if (blob->path)
                return blob->path;
        digest_hex(&blob->digest, hex);
        (void)snprintf(out, BLOB_PATH, "blobs/sha256/%s", hex);
        return out;
}

/* -- documents --------------------------------------------------------------------------------- */

static int
read_all(int fd, struct arena *arena, const char *path, const char **ret, size_t *ret_len,
         struct error *e)
{
        char *text = arena_alloc(arena, OCI_DOCUMENT_MAX + 1);
        ssize_t got = 1;

        if (!text)
                return fail(e, ERROR_NO_MEMORY, "no memory for a document of an image");
        for (*ret_len = 0; got > 0 && *ret_len <= OCI_DOCUMENT_MAX; *ret_len += (size_t)got) {
                got = read(fd, text + *ret_len, OCI_DOCUMENT_MAX + 1 - *ret_len);
                if (got < 0)
                        return fail_sys(e, ERROR_FILE_UNREADABLE, errno,
                                        "reading %.150s of the image", path);
        }
        *ret = text;
        if (*ret_len <= OCI_DOCUMENT_MAX)
                return 0;
        return fail_at(e, ERROR_IMAGE_INVALID, NULL, "size",
                       "%.150s of the image is larger than 4 MiB", path);
}

static int
read_file(const struct layout *l, struct arena *arena, const char *path, const char **ret,
          size_t *ret_len, struct error *e)
{
        scoped_fd int fd = -1;

        return open_file(l, path, &fd, e) < 0 ? -1 : read_all(fd, arena, path, ret, ret_len, e);
}

static int
wrong_digest(const char *path, struct error *e)
{
        (void)fail_at(e, ERROR_IMAGE_INVALID, NULL, "digest",
                      "%.150s of the image does not have the content that its digest names", path);
        error_hint(e, "The file is damaged or was changed. Make or load the image again.");
        return -1;
}

/* `has_size`: the blob's size is known. */
static int
read_blob(const struct layout *l, struct arena *arena, const struct oci_blob *blob, bool has_size,
          const char **ret, size_t *ret_len, struct error *e)
{
        char room[BLOB_PATH];
        const char *path = blob_path(blob, room);
        struct digest digest;

        if (read_file(l, arena, path, ret, ret_len, e) < 0)
                return -1;
        digest_of(*ret, *ret_len, &digest);
        if (digest_equals(&digest, &blob->digest) && (!has_size || *ret_len == blob->size))
                return 0;
        return wrong_digest(path, e);
}

/* -- the image --------------------------------------------------------------------------------- */

static int read_chosen(const struct layout *l, struct arena *arena, const struct oci_choice *from,
                       unsigned depth, struct oci_manifest *ret, struct error *e);

static int
choose(const struct layout *l, struct arena *arena, const char *bytes, size_t len, const char *ref,
       unsigned depth, struct oci_manifest *ret, struct error *e)
{
        struct oci_choice *choices = arena_array(arena, struct oci_choice, OCI_CHOICES_MAX);
        const struct oci_choice *chosen;
        struct utsname machine;
        size_t count;

        if (!choices)
                return fail(e, ERROR_NO_MEMORY, "no memory for the index of an image");
        (void)uname(&machine);
        if (oci_read_index(arena, bytes, len, choices, &count, e) < 0 ||
            oci_choose(choices, count, ref, oci_architecture(machine.machine), &chosen, e) < 0)
                return -1;
        return read_chosen(l, arena, chosen, depth, ret, e);
}

static int
read_chosen(const struct layout *l, struct arena *arena, const struct oci_choice *from,
            unsigned depth, struct oci_manifest *ret, struct error *e)
{
        const char *bytes = NULL;
        size_t len = 0;

        if (read_blob(l, arena, &from->blob, true, &bytes, &len, e) < 0)
                return -1;
        if (from->is_index && depth >= NESTED_MAX)
                return fail_at(e, ERROR_IMAGE_INVALID, NULL, "syntax",
                               "the index of the image is nested too deeply");
        if (from->is_index)
                return choose(l, arena, bytes, len, NULL, depth + 1, ret, e);
        if (oci_read_manifest(arena, bytes, len, ret, e) < 0)
                return -1;
        ret->name = from->name;
        return 0;
}

bool
layout_open(int dir, struct layout *ret)
{
        scoped_fd int oci = open_beneath(dir, "oci-layout");
        scoped_fd int index = open_beneath(dir, "index.json");
        scoped_fd int saved = open_beneath(dir, "manifest.json");

        *ret = (struct layout){ .dir = dir, .is_oci = oci >= 0 && index >= 0 };
        return ret->is_oci || saved >= 0;
}

int
layout_read(const struct layout *l, struct arena *arena, const char *ref,
            struct oci_manifest *ret_manifest, struct oci_config *ret_config, struct error *e)
{
        const char *bytes = NULL;
        size_t len = 0;

        if (read_file(l, arena, l->is_oci ? "index.json" : "manifest.json", &bytes, &len, e) < 0 ||
            (l->is_oci ? choose(l, arena, bytes, len, ref, 0, ret_manifest, e)
                       : oci_read_saved(arena, bytes, len, ref, ret_manifest, e)) < 0 ||
            read_blob(l, arena, &ret_manifest->config, ret_manifest->has_digests, &bytes, &len, e) <
                    0 ||
            oci_read_config(arena, bytes, len, ret_config, e) < 0)
                return -1;
        if (ret_config->layer_count == ret_manifest->layer_count)
                return 0;
        return fail_at(e, ERROR_IMAGE_INVALID, NULL, "layers",
                       "the image's manifest names %zu layers, and its configuration %zu",
                       ret_manifest->layer_count, ret_config->layer_count);
}

int
layout_copy(const struct layout *l, const struct oci_blob *layer, bool has_digest, int to,
            uint64_t bytes_max, struct error *e)
{
        scoped_fd int from = -1;
        char room[BLOB_PATH];
        const char *path = blob_path(layer, room);
        uint64_t bytes;
        struct digest digest;
        int result;

        if (open_file(l, path, &from, e) < 0)
                return -1;
        result = digest_copy(from, to,
                             has_digest && layer->size < bytes_max ? layer->size : bytes_max,
                             &digest, &bytes);
        if (result == -EFBIG)
                return fail_at(e, ERROR_IMAGE_INVALID, NULL, "size",
                               "%.150s is larger than the image says, or than an import may be",
                               path);
        if (result == -ENOSPC || result == -EDQUOT)
                return fail(e, ERROR_STORAGE_FULL, "the disk of the images is full");
        if (result < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, -result, "copying %.150s", path);
        if (!has_digest || (bytes == layer->size && digest_equals(&digest, &layer->digest)))
                return 0;
        return wrong_digest(path, e);
}
