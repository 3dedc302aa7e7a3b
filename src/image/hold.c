/*
 * image/hold.c - an image as a sandbox uses it.
 *
 * Room: image (joining). Touches: fd (the store; writes nothing).
 * Theory: the record is locked first, then the layers. Who removes locks exclusively and without
 * waiting, so either this call has all of them, or it fails and has none.
 */
#include "image/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"

static int
gone(struct error *e, const char *what)
{
        (void)fail_at(e, ERROR_IMAGE_NOT_FOUND, NULL, "layer",
                      "%s of the image is not in the store", what);
        error_hint(e, "Import the image again: carrel image import SOURCE NAME.");
        return -1;
}

/* A shared lock on what still has its name. */
static int
lock_entry(int dir, const char *hex, int flags, int *ret)
{
        struct stat there, held;

        *ret = openat(dir, hex, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags);
        if (*ret < 0 || flock(*ret, LOCK_SH | LOCK_NB) < 0 || fstat(*ret, &held) < 0 ||
            fstatat(dir, hex, &there, AT_SYMLINK_NOFOLLOW) < 0)
                return -1;
        return held.st_dev == there.st_dev && held.st_ino == there.st_ino ? 0 : -1;
}

/* A layer that comes again above adds nothing where it is first, and overlayfs takes it only once.
 */
static bool
comes_again(const struct image_record *r, size_t index)
{
        for (size_t i = index + 1; i < r->layer_count; i++)
                if (digest_equals(&r->layers[i], &r->layers[index]))
                        return true;
        return false;
}

static int
hold_layer(const struct image_store *s, const char *state, struct arena *arena, size_t index,
           struct image_held *held, struct error *e)
{
        size_t at = held->layer_count;
        char hex[DIGEST_HEX];
        int result;

        digest_hex(&held->record.layers[index], hex);
        result = lock_entry(s->layers, hex, O_DIRECTORY, &held->layers[at]);
        held->layer_count += held->layers[at] >= 0;
        if (result < 0)
                return gone(e, "a layer");
        held->paths[at] = arena_format(arena, "%s/images/layers/%s/" IMAGE_LAYER_ROOT, state, hex);
        return held->paths[at] ? 0 : fail(e, ERROR_NO_MEMORY, "no memory for an image");
}

int
image_hold_layers(const char *state, struct arena *arena, struct image_held *held, struct error *e)
{
        struct image_store store;
        int result = image_store_look(state, &store, e);

        for (size_t i = 0; result == 0 && i < held->record.layer_count; i++)
                if (!comes_again(&held->record, i))
                        result = hold_layer(&store, state, arena, i, held, e);
        image_store_close(&store);
        return result;
}

static int
hold(const struct image_store *s, const char *name, struct arena *arena, struct image_held *ret,
     struct error *e)
{
        struct digest id;
        char hex[DIGEST_HEX];

        if (image_store_find(s, name, &id, e) < 0)
                return -1;
        digest_hex(&id, hex);
        if (lock_entry(s->records, hex, 0, &ret->record_fd) < 0)
                return gone(e, "the record");
        return record_read(s, arena, &id, &ret->record, e);
}

int
image_hold(const char *state, const char *name, struct arena *arena, struct image_held *ret,
           struct error *e)
{
        struct image_store store;
        int result;

        ret->record_fd = -1;
        ret->layer_count = 0;
        result = image_store_look(state, &store, e);
        if (result == 0)
                result = hold(&store, name, arena, ret, e);
        image_store_close(&store);
        return result;
}

void
image_let_go_layers(struct image_held *held)
{
        while (held->layer_count > 0)
                scoped_fd_close(&held->layers[--held->layer_count]);
}

void
image_let_go(struct image_held *held)
{
        scoped_fd_close(&held->record_fd);
        image_let_go_layers(held);
}
