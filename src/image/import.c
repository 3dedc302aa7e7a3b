/*
 * image/import.c - adds an image to the store.
 *
 * Room: image (joining). Touches: fd (the source; the store), child processes (unpacker.h).
 * Theory: whatever the source is, it becomes a layout (manifest, configuration, layers), or one
 * layer (an archive or a directory) of which the configuration is written here. The name is given
 * last.
 */
#include "image/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/scoped.h"
#include "image/collect.h"
#include "image/layer.h"
#include "image/layout.h"
#include "text/json.h"
#include "volume/erase.h"

struct importing {
        struct image_store *s;
        struct arena *arena;
        const struct image_import *asked;
        struct image_imported *ret;
        struct image_record record;
        bool has_unpacked; /* a layer, or it has begun to */
};

static uint64_t
now_ms(void)
{
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME, &now);
        return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* -- names ------------------------------------------------------------------------------------- */

/* "python.tar.gz" gives "python". */
static void
name_of_path(const char *path, char out[IMAGE_NAME_MAX + 1])
{
        size_t len = strlen(path), begin;

        while (len > 1 && path[len - 1] == '/')
                len--;
        begin = len;
        while (begin > 0 && path[begin - 1] != '/')
                begin--;
        len = len - begin > IMAGE_NAME_MAX ? IMAGE_NAME_MAX : len - begin;
        memcpy(out, path + begin, len);
        out[len] = '\0';
        out[strcspn(out, ".")] = '\0';
}

static int
choose_name(struct importing *i, const char *given, struct error *e)
{
        const char *name = i->asked->name ? i->asked->name : given;

        if (name && strlen(name) <= IMAGE_NAME_MAX)
                memcpy(i->ret->name, name, strlen(name) + 1);
        else if (!name)
                name_of_path(i->asked->source, i->ret->name);
        if (image_name_is_free(i->ret->name))
                return 0;
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, NULL, "name",
                      name ? "%.200s is no name of an image" : "the image has no name", name);
        error_hint(e, "For example: carrel image import SOURCE python:3.12. A name has %s.",
                   IMAGE_NAME_SHAPE);
        return -1;
}

/* -- layers ------------------------------------------------------------------------------------ */

/* A file without a name on the disk of the store. */
static int
open_copy(struct importing *i, int *ret, struct error *e)
{
        *ret = openat(i->s->making, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (*ret >= 0)
                return 0;
        return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a file beside the images");
}

static int
add_layer(struct importing *i, const struct digest *diff_id, int archive, const char *label,
          struct error *e)
{
        struct layer_facts facts;
        bool is_new;

        if (lseek(archive, 0, SEEK_SET) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "reading %s", label);
        i->has_unpacked = true;
        if (layer_add(i->s, diff_id, archive, &i->asked->limits, &i->asked->progress, label, &facts,
                      &is_new, e) < 0)
                return -1;
        i->record.layers[i->record.layer_count++] = *diff_id;
        i->record.bytes += facts.bytes;
        i->record.entries += facts.entries;
        i->ret->layers++;
        i->ret->new_layers += is_new;
        i->ret->bytes += facts.bytes;
        i->ret->left_out += facts.left_out;
        return 0;
}

/*
 * overlayfs does not read the mark of an opaque directory at the top of a layer, so the layers
 * below would be seen, which this one removes.
 */
static int
check_top(struct importing *i, const struct digest *diff_id, size_t index, struct error *e)
{
        char path[DIGEST_HEX + sizeof "/" IMAGE_LAYER_ROOT], hex[DIGEST_HEX], mark;
        scoped_fd int root = -1;

        digest_hex(diff_id, hex);
        (void)snprintf(path, sizeof path, "%s/" IMAGE_LAYER_ROOT, hex);
        root = openat(i->s->layers, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "opening a layer");
        if (index == 0 || fgetxattr(root, "user.overlay.opaque", &mark, sizeof mark) <= 0)
                return 0;
        (void)fail_at(e, ERROR_IMAGE_INVALID, NULL, "unsupported",
                      "layer %zu: entry .wh..wh..opq: it removes the whole root below", index + 1);
        error_hint(e, "Make an image of one layer from it: docker export, or buildah --squash.");
        return -1;
}

static int
take_layer(struct importing *i, const struct layout *l, const struct oci_manifest *m,
           const struct oci_config *c, size_t index, struct error *e)
{
        struct layer_facts known;
        scoped_fd int copy = -1;
        char label[64];

        (void)snprintf(label, sizeof label, "layer %zu of %zu", index + 1, m->layer_count);
        if (open_copy(i, &copy, e) < 0)
                return -1;
        /* what is in the store was checked when it came */
        if (!layer_exists(i->s, &c->diff_ids[index], &known) &&
            layout_copy(l, &m->layers[index], m->has_digests, copy, i->asked->limits.bytes, e) < 0)
                return error_wrap(e, "%s", label);
        return add_layer(i, &c->diff_ids[index], copy, label, e) < 0
                       ? -1
                       : check_top(i, &c->diff_ids[index], index, e);
}

/* -- the end ----------------------------------------------------------------------------------- */

static int
commit(struct importing *i, struct error *e)
{
        i->record.imported_ms = now_ms();
        i->record.source = i->asked->origin ? i->asked->origin : i->asked->source;
        i->ret->id = i->record.id;
        return record_write(i->s, &i->record, e) < 0 ||
                               image_store_name(i->s, i->ret->name, &i->record.id, e) < 0
                       ? -1
                       : 0;
}

static int
import_layout(struct importing *i, const struct layout *l, struct error *e)
{
        struct oci_manifest *m = arena_new(i->arena, struct oci_manifest);
        struct oci_config *c = arena_new(i->arena, struct oci_config);

        if (!m || !c)
                return fail(e, ERROR_NO_MEMORY, "no memory for an image");
        if (layout_read(l, i->arena, i->asked->ref, m, c, e) < 0 || choose_name(i, m->name, e) < 0)
                return -1;
        for (size_t at = 0; at < m->layer_count; at++)
                if (take_layer(i, l, m, c, at, e) < 0)
                        return -1;
        i->record.id = m->config.digest;
        i->record.os = c->os;
        i->record.architecture = c->architecture;
        i->record.created = c->created;
        i->record.cwd = c->cwd;
        i->record.user = c->user;
        i->record.environment = c->environment;
        i->record.entrypoint = c->entrypoint;
        i->record.command = c->command;
        return commit(i, e);
}

/* -- archives ---------------------------------------------------------------------------------- */

static int
import_unpacked(struct importing *i, int archive, const char *making, struct error *e)
{
        scoped_fd int dir = -1;
        struct unpacked done;
        struct layout l;

        if (mkdirat(i->s->making, making, 0700) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "making a directory");
        dir = openat(i->s->making, making, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "opening a directory");
        if (unpacker_run(UNPACK_FILES, archive, dir, &i->asked->limits, &i->asked->progress,
                         "the archive", &done, e) < 0)
                return -1;
        if (!layout_open(dir, &l))
                return fail_at(
                        e, ERROR_IMAGE_INVALID, NULL, "missing",
                        "the archive holds no image: oci-layout or manifest.json is missing");
        return import_layout(i, &l, e);
}

static int
import_image_archive(struct importing *i, int archive, struct error *e)
{
        char making[40];
        int result;

        (void)snprintf(making, sizeof making, "archive.%ld", (long)getpid());
        result = erase_all(i->s->making, making);
        if (result < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, -result, "erasing what another left");
        result = import_unpacked(i, archive, making, e);
        (void)erase_all(i->s->making, making);
        return result;
}

/* The configuration of a root that has none: the same bytes for the same root. */
static int
configure_root(struct importing *i, const struct digest *diff_id, struct error *e)
{
        char layer[DIGEST_TEXT];
        struct utsname machine;
        struct json_writer w;

        (void)uname(&machine);
        i->record.os = "linux";
        i->record.architecture = arena_text(i->arena, oci_architecture(machine.machine));
        digest_text(diff_id, layer);
        json_init(&w, false);
        json_open_map(&w);
        json_key(&w, "architecture");
        json_text(&w, i->record.architecture);
        json_key(&w, "os");
        json_text(&w, i->record.os);
        json_key(&w, "rootfs");
        json_open_map(&w);
        json_key(&w, "type");
        json_text(&w, "layers");
        json_key(&w, "diff_ids");
        json_open_list(&w);
        json_text(&w, layer);
        json_close_list(&w);
        json_close_map(&w);
        json_close_map(&w);
        if (w.is_broken || !i->record.architecture) {
                json_fini(&w);
                return fail(e, ERROR_NO_MEMORY, "no memory for an image's configuration");
        }
        digest_of(w.text, w.len, &i->record.id);
        json_fini(&w);
        return 0;
}

static int
import_root(struct importing *i, int archive, const char *label, struct error *e)
{
        struct unpacked done;
        scoped_fd int nowhere = openat(i->s->making, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        /* its digest names it, so it is read once before it is unpacked */
        if (nowhere < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "opening a directory");
        if (unpacker_run(UNPACK_HASH, archive, nowhere, &i->asked->limits, &i->asked->progress,
                         label, &done, e) < 0 ||
            choose_name(i, NULL, e) < 0 || add_layer(i, &done.digest, archive, "the root", e) < 0 ||
            configure_root(i, &done.digest, e) < 0)
                return -1;
        return commit(i, e);
}

static int
import_archive(struct importing *i, int source, struct error *e)
{
        scoped_fd int copy = -1, nowhere = -1;
        struct digest digest;
        struct unpacked seen;
        uint64_t bytes;
        int result;

        nowhere = openat(i->s->making, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (nowhere < 0 || open_copy(i, &copy, e) < 0)
                return nowhere < 0 ? fail_sys(e, ERROR_BACKEND_FAILED, errno, "opening a directory")
                                   : -1;
        result = digest_copy(source, copy, i->asked->limits.bytes, &digest, &bytes);
        if (result == -EFBIG)
                return fail_at(e, ERROR_IMAGE_INVALID, NULL, "size",
                               "%.200s is larger than an import may be", i->asked->source);
        if (result == -ENOSPC)
                return fail(e, ERROR_STORAGE_FULL,
                            "the disk of the images has too little room for a copy of %.200s",
                            i->asked->source);
        if (result < 0)
                return fail_sys(e, ERROR_FILE_UNREADABLE, -result, "reading %.200s",
                                i->asked->source);
        if (lseek(copy, 0, SEEK_SET) < 0 ||
            unpacker_run(UNPACK_LOOK, copy, nowhere, &i->asked->limits, NULL, i->asked->source,
                         &seen, e) < 0 ||
            lseek(copy, 0, SEEK_SET) < 0)
                return -1;
        return seen.what == UNPACK_FILES ? import_image_archive(i, copy, e)
                                         : import_root(i, copy, "the archive", e);
}

/* -- the source -------------------------------------------------------------------------------- */

/* Has it a directory that roots have? Any other directory is rather a mistake. */
static bool
is_root(int dir)
{
        static const char *const names[] = { "bin", "etc", "lib", "sbin", "usr", "var" };
        struct stat st;

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (fstatat(dir, names[i], &st, 0) == 0 && S_ISDIR(st.st_mode))
                        return true;
        return false;
}

static int
import_source(struct importing *i, struct error *e)
{
        scoped_fd int source = open(i->asked->source, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        struct layout l;
        struct stat st;

        if (source < 0 || fstat(source, &st) < 0)
                return fail_sys(e, ERROR_FILE_UNREADABLE, errno, "opening %.200s",
                                i->asked->source);
        if (S_ISREG(st.st_mode))
                return import_archive(i, source, e);
        if (S_ISDIR(st.st_mode) && layout_open(source, &l))
                return import_layout(i, &l, e);
        if (S_ISDIR(st.st_mode) && is_root(source))
                return import_root(i, source, "the directory", e);
        (void)fail_at(e, ERROR_IMAGE_INVALID, NULL, "missing", "%.200s is no image",
                      i->asked->source);
        error_hint(e, "A directory is an OCI layout (it has oci-layout), or a root: it has bin, "
                      "usr, etc or another directory that roots have.");
        return -1;
}

/* The layers before the one that was refused; while another import runs they stay for `prune`. */
static void
sweep(struct image_store *s, struct arena *arena)
{
        struct image_collected collected;
        struct error e;

        (void)image_collect(s, arena, &collected, &e);
}

int
image_import(struct image_store *s, struct arena *arena, const struct image_import *asked,
             struct image_imported *ret, struct error *e)
{
        struct importing i = { .s = s, .arena = arena, .asked = asked, .ret = ret };
        int result;

        *ret = (struct image_imported){ .layers = 0 };
        if (image_store_lock(s, false, true, e) < 0)
                return -1;
        result = import_source(&i, e);
        image_store_unlock(s);
        if (result < 0 && i.has_unpacked)
                sweep(s, arena);
        return result;
}
