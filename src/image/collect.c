/*
 * image/collect.c - removes images, and layers that no image has.
 *
 * Room: image (joining). Touches: fd (the store).
 * Theory: names hold records, records hold layers. With the store's exclusive lock no import adds
 * one of these, so what nothing holds can go. A sandbox holds its layers by locks of their own.
 */
#include "image/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/scoped.h"
#include "image/disk.h"
#include "image/layer.h"
#include "image/record.h"
#include "image/saved.h"

enum { KEPT_MAX = 1 << 20 };

/* What is held, sorted when it is complete. */
struct kept {
        struct digest *items;
        size_t count, room;
};

static int
compare(const void *a, const void *b)
{
        return memcmp(a, b, sizeof(struct digest));
}

static bool
keep(struct kept *k, const struct digest *d)
{
        if (k->count == k->room) {
                size_t room = k->room ? k->room * 2 : 64;
                struct digest *grown =
                        room > KEPT_MAX ? NULL : reallocarray(k->items, room, sizeof *grown);

                if (!grown)
                        return false;
                k->items = grown;
                k->room = room;
        }
        k->items[k->count++] = *d;
        return true;
}

static bool
is_kept(const struct kept *k, const struct digest *d)
{
        return k->count > 0 && bsearch(d, k->items, k->count, sizeof *d, compare);
}

static int
no_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "no memory for the list of layers");
}

/* -- what is held ------------------------------------------------------------------------------ */

static int
keep_image(void *ctx, const char *name, const struct digest *image)
{
        (void)name;
        return keep(ctx, image) ? 0 : 1;
}

/* Calls `each` for every entry of `dir` that is named by a digest. */
static int
each_digest(int dir, int (*each)(void *ctx, const char *hex, const struct digest *d), void *ctx,
            struct error *e)
{
        int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = 0;
        DIR *entries = copy < 0 ? NULL : fdopendir(copy);
        struct dirent *entry;

        if (!entries) {
                scoped_fd_close(&copy);
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "listing the images");
        }
        while (result == 0 && (entry = readdir(entries))) {
                struct digest d;

                if (digest_read_hex(entry->d_name, &d))
                        result = each(ctx, entry->d_name, &d);
        }
        (void)closedir(entries);
        return result;
}

struct collecting {
        struct image_store *s;
        struct arena *arena;
        struct kept images, layers;
        struct image_collected *ret;
        struct error *e;
};

/* By a sandbox; one that is not started yet holds the record alone. */
static bool
is_held(const struct image_store *s, const char *hex)
{
        scoped_fd int fd = openat(s->records, hex, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

        return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static int
visit_record(void *ctx, const char *hex, const struct digest *d)
{
        struct collecting *c = ctx;
        bool is_named = is_kept(&c->images, d);
        struct image_record r;

        if (!is_named && !is_held(c->s, hex)) {
                c->ret->images++;
                return unlinkat(c->s->records, hex, 0) == 0
                               ? 0
                               : fail_sys(c->e, ERROR_BACKEND_FAILED, errno, "removing an image");
        }
        if (record_read(c->s, c->arena, d, &r, c->e) < 0)
                return -1;
        c->ret->in_use += is_named ? 0 : r.layer_count;
        for (size_t i = 0; i < r.layer_count; i++)
                if (!keep(&c->layers, &r.layers[i]))
                        return no_memory(c->e);
        return 0;
}

static int
visit_layer(void *ctx, const char *hex, const struct digest *d)
{
        struct collecting *c = ctx;
        struct layer_facts facts;
        int result;

        if (is_kept(&c->layers, d) || !layer_exists(c->s, d, &facts))
                return 0;
        result = layer_erase(c->s, hex, c->e);
        c->ret->in_use += result == 1;
        c->ret->layers += result == 0;
        c->ret->bytes += result == 0 ? facts.bytes : 0;
        return result < 0 ? -1 : 0;
}

/* -- the collection ---------------------------------------------------------------------------- */

static int
collect(struct collecting *c)
{
        int result = image_store_names(c->s, keep_image, &c->images, c->e);

        if (result != 0)
                return result < 0 ? -1 : no_memory(c->e);
        if (c->images.count > 0)
                qsort(c->images.items, c->images.count, sizeof *c->images.items, compare);
        if (each_digest(c->s->records, visit_record, c, c->e) < 0)
                return -1;
        if (c->layers.count > 0)
                qsort(c->layers.items, c->layers.count, sizeof *c->layers.items, compare);
        return each_digest(c->s->layers, visit_layer, c, c->e);
}

int
image_collect(struct image_store *s, struct arena *arena, struct image_collected *ret,
              struct error *e)
{
        struct collecting c = { .s = s, .arena = arena, .ret = ret, .e = e };
        int result = image_store_lock(s, true, false, e);

        *ret = (struct image_collected){ .is_busy = result == 1 };
        if (result != 0)
                return result < 0 ? -1 : 0;
        result = collect(&c);
        if (result == 0) {
                layer_sweep(s);
                image_disk_sweep(s);
                (void)image_saved_remove(s, NULL);
        }
        image_store_unlock(s);
        free(c.images.items);
        free(c.layers.items);
        return result;
}
