/*
 * prepare/rootfs.c - the image of a sandbox.
 *
 * Room: prepare (joining). Touches: fd (the images of the state directory; writes nothing).
 * Theory: the image's name is looked up once, when the manifest is judged. From then on the
 * manifest says NAME@sha256:HEX: what is planned, started again and recorded is the same image,
 * whatever the name means by then.
 */
#include "prepare/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "image/disk.h"

#define SETTING "image"

static int
no_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "no memory for an image");
}

/* Programs of the host do not fit: their libraries are not there. */
static int
check_fields(const struct spec *spec, bool has_runtime, struct error *e)
{
        if (!has_runtime && spec->carrel.tools.count == 0)
                return 0;
        (void)fail_at(e, ERROR_CONFIG_INVALID, has_runtime ? "runtime" : "metadata/carrel/tools",
                      "image",
                      "programs of the host do not run in an image: their libraries are not there");
        error_hint(e, "Install them in the image, or mount a directory of programs that need no "
                      "libraries.");
        return -1;
}

/* -- pinning ----------------------------------------------------------------------------------- */

struct pinning {
        struct arena *arena;
        const struct node *config; /* whose member is replaced */
        const char *ref;
};

static struct node *
copy_one(const struct pinning *p, const struct node *from, bool is_config)
{
        struct node *copy = arena_new(p->arena, struct node);

        if (!copy)
                return NULL;
        *copy = *from;
        if (is_config && from->kind == NODE_STRING && from->key &&
            strcmp(from->key, SETTING) == 0) {
                copy->text = p->ref;
                copy->len = strlen(p->ref);
        }
        return copy;
}

/* Copies the children of `from`, which is `is_config`, into `to`. False: no memory. */
static bool copy_children(const struct pinning *p, const struct node *from, struct node *to,
                          bool is_config);

static bool
copy_child(const struct pinning *p, const struct node *child, struct node **last, bool is_config,
           struct node *to)
{
        struct node *copy = copy_one(p, child, is_config);

        if (!copy || !copy_children(p, child, copy, child == p->config))
                return false;
        copy->next = NULL;
        if (*last)
                (*last)->next = copy;
        else
                to->first = copy;
        *last = copy;
        return true;
}

/* lint: the depth of a tree is bounded where it is read */
static bool
copy_children(const struct pinning *p, const struct node *from, struct node *to, bool is_config)
{
        struct node *last = NULL;

        if (from->kind != NODE_MAP && from->kind != NODE_LIST)
                return true;
        node_each(child, from) if (!copy_child(p, child, &last, is_config, to)) return false;
        return true;
}

static struct node *
pin(struct arena *arena, const struct node *tree, const struct node *config, const char *ref)
{
        const struct pinning pinning = { arena, config, ref };
        struct node *copy = copy_one(&pinning, tree, false);

        return copy && copy_children(&pinning, tree, copy, tree == config) ? copy : NULL;
}

const struct node *
rootfs_pin(struct arena *arena, const struct rootfs *r, const struct node *tree)
{
        return pin(arena, tree, r->config, r->ref);
}

/* Of the name in "NAME@sha256:HEX", or of the whole text. */
static size_t
name_len(const char *ref)
{
        const char *at = strstr(ref, "@sha256:");

        return at ? (size_t)(at - ref) : strlen(ref);
}

static const char *
write_ref(struct arena *arena, const char *name, const struct digest *id)
{
        char text[DIGEST_TEXT];

        digest_text(id, text);
        return arena_format(arena, "%.*s@%s", (int)name_len(name), name, text);
}

static int
pin_spec(struct arena *arena, struct rootfs *r, const struct spec **spec, struct error *e)
{
        struct spec *pinned = arena_new(arena, struct spec);

        r->config = (*spec)->config;
        r->ref = write_ref(arena, (*spec)->image, &r->held.record.id);
        if (!pinned || !r->ref)
                return no_memory(e);
        *pinned = **spec;
        pinned->image = r->ref;
        pinned->config = pin(arena, r->config, r->config, r->ref);
        if (!pinned->config)
                return no_memory(e);
        *spec = pinned;
        return 0;
}

/* -- finding and opening ----------------------------------------------------------------------- */

int
rootfs_take(struct arena *arena, const struct prepare_host *host, bool has_runtime,
            const struct spec **spec, struct rootfs **ret, struct error *e)
{
        struct rootfs *r;

        *ret = NULL;
        if (!(*spec)->image)
                return 0;
        if (check_fields(*spec, has_runtime, e) < 0)
                return -1;
        if (!host->volumes)
                return fail_at(e, ERROR_IMAGE_NOT_FOUND, "config/image", "no_state",
                               "the state directory is unknown: none of CARREL_STATE, "
                               "XDG_STATE_HOME and HOME is set");
        r = arena_new(arena, struct rootfs);
        if (!r)
                return no_memory(e);
        *ret = r;
        r->held = (struct image_held){ .record_fd = -1 };
        r->state = arena_text(arena, host->volumes);
        if (!r->state)
                return no_memory(e);
        if (image_hold(host->volumes, (*spec)->image, arena, &r->held, e) == 0)
                return pin_spec(arena, r, spec, e);
        if (e->path[0] == '\0')
                (void)snprintf(e->path, sizeof e->path, "config/image");
        return -1;
}

bool
rootfs_is_current(const struct prepare_host *host, const struct rootfs *r)
{
        char name[IMAGE_NAME_MAX + 1];
        struct image_store store;
        struct digest now;
        struct error ignored;
        bool is_current;

        if (!host->volumes || name_len(r->ref) >= sizeof name ||
            image_store_look(host->volumes, &store, &ignored) < 0)
                return false;
        (void)snprintf(name, sizeof name, "%.*s", (int)name_len(r->ref), r->ref);
        is_current = image_store_find(&store, name, &now, &ignored) == 0 &&
                     digest_equals(&now, &r->held.record.id);
        image_store_close(&store);
        return is_current;
}

void
rootfs_let_go(struct rootfs *r)
{
        if (r)
                image_let_go(&r->held);
}

static int
add(struct sources *sources, int fd, const char *path, bool is_directory, struct error *e)
{
        int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3); /* of the same open file: the lock is kept */

        if (copy < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "handing on a layer");
        return sources_add_layer(
                sources, copy,
                &(struct plan_source){ .host_path = path, .is_directory = is_directory }, e);
}

/* Their owner is that of the store. */
static int
describe(struct arena *arena, struct rootfs *r, struct error *e)
{
        struct plan_rootfs *plan = arena_new(arena, struct plan_rootfs);
        struct stat st;

        if (!plan)
                return no_memory(e);
        if (fstat(r->held.record_fd, &st) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "looking at an image");
        *plan = (struct plan_rootfs){ .ref = r->ref,
                                      .layer_count = r->held.layer_count,
                                      .has_record = true,
                                      .cwd = r->held.record.cwd,
                                      .owner = st.st_uid,
                                      .owner_g = st.st_gid };
        r->plan = plan;
        return 0;
}

int
rootfs_open(struct arena *arena, const struct prepare_host *host, struct rootfs *r,
            struct sources *sources, struct error *e)
{
        const struct image_held *held = &r->held;
        int result = image_hold_layers(host->volumes, arena, &r->held, e);

        if (result == 0)
                result = describe(arena, r, e);
        if (result == 0)
                result = add(sources, held->record_fd, r->ref, false, e);
        for (size_t i = 0; result == 0 && i < held->layer_count; i++)
                result = add(sources, held->layers[i], held->paths[i], true, e);
        image_let_go_layers(&r->held);
        return result;
}

/* Its file is not written again; if it is removed, this sandbox keeps it. */
static int
add_disk(struct arena *arena, const struct prepare_host *host, struct rootfs *r,
         struct sources *sources, struct error *e)
{
        struct stat st = { .st_dev = 0 };
        const char *path;
        scoped_fd int fd = -1;

        if (image_disk_open(host->volumes, &r->held.record.id, arena, &fd, &path, e) < 0) {
                if (e->code == ERROR_IMAGE_NOT_FOUND)
                        error_hint(e, "Make it once: carrel image disk %.*s", (int)name_len(r->ref),
                                   r->ref);
                return -1;
        }
        if (fstat(fd, &st) < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "looking at a disk");
        return sources_add_layer(
                sources, fd_take(&fd),
                &(struct plan_source){ .host_path = path, .device = st.st_dev, .inode = st.st_ino },
                e);
}

int
rootfs_open_disk(struct arena *arena, const struct prepare_host *host, struct rootfs *r,
                 struct sources *sources, struct error *e)
{
        int result;

        r->held.layer_count = 1; /* the disk, for describe() */
        result = describe(arena, r, e);
        r->held.layer_count = 0;
        if (result == 0)
                result = add(sources, r->held.record_fd, r->ref, false, e);
        return result == 0 ? add_disk(arena, host, r, sources, e) : -1;
}

int
rootfs_command(struct arena *arena, const struct rootfs *r, char ***ret, size_t *ret_count,
               struct error *e)
{
        const struct oci_words *first = &r->held.record.entrypoint, *then = &r->held.record.command;
        size_t count = first->count + then->count;
        char **words = arena_array(arena, char *, count + 1);

        *ret_count = 0;
        if (!words)
                return no_memory(e);
        for (size_t i = 0; i < count; i++) {
                words[i] = arena_text(arena, i < first->count ? first->items[i]
                                                              : then->items[i - first->count]);
                if (!words[i])
                        return no_memory(e);
        }
        *ret = words;
        *ret_count = count;
        return 0;
}
