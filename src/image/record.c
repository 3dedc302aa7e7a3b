/*
 * image/record.c - reads what the store knows of an image.
 *
 * Room: image (joining). Touches: fd (records of the store).
 * Theory: a record is a packed tree, not text: the keeper, which parses no text, reads it too.
 */
#include "image/record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "text/tree_pack.h"

const struct text_limits record_limits = { RECORD_MAX, 8, 1 << 16 };

/* The members that are one text. */
const struct record_row record_texts[] = {
        { "os", offsetof(struct image_record, os) },
        { "architecture", offsetof(struct image_record, architecture) },
        { "created", offsetof(struct image_record, created) },
        { "cwd", offsetof(struct image_record, cwd) },
        { "user", offsetof(struct image_record, user) },
        { "source", offsetof(struct image_record, source) },
        { NULL, 0 },
};
/* The members that are lists of words. */
const struct record_row record_lists[] = {
        { "environment", offsetof(struct image_record, environment) },
        { "entrypoint", offsetof(struct image_record, entrypoint) },
        { "command", offsetof(struct image_record, command) },
        { NULL, 0 },
};

static int
no_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "no memory for an image's record");
}

static int
damaged(struct error *e, const char *hex)
{
        (void)fail(e, ERROR_STATE_UNUSABLE, "the record of image %.12s is damaged", hex);
        error_hint(e, "Import the image again: `carrel image import` writes a new record.");
        return -1;
}

static int
load(const struct image_store *s, struct arena *arena, const char *hex, const struct node **ret,
     struct error *e)
{
        scoped_fd int fd = openat(s->records, hex, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;
        char *bytes;

        if (fd < 0 && errno == ENOENT)
                return fail(e, ERROR_IMAGE_NOT_FOUND, "there is no image %.12s", hex);
        if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > RECORD_MAX)
                return damaged(e, hex);
        bytes = arena_alloc(arena, (size_t)st.st_size);
        if (!bytes)
                return no_memory(e);
        if (read(fd, bytes, (size_t)st.st_size) != st.st_size ||
            tree_unpack(arena, bytes, (size_t)st.st_size, &record_limits, ret, e) < 0 ||
            (*ret)->kind != NODE_MAP)
                return damaged(e, hex);
        return 0;
}

static bool
read_words(struct arena *arena, const struct node *list, struct oci_words *ret)
{
        if (!list || list->kind != NODE_LIST)
                return false;
        ret->items = arena_array(arena, const char *, list->len + 1);
        if (!ret->items)
                return false;
        node_each(word, list) ret->items[ret->count++] = word->text ? word->text : "";
        return true;
}

static bool
read_layers(const struct node *list, struct image_record *ret)
{
        if (!list || list->kind != NODE_LIST || list->len > OCI_LAYERS_MAX)
                return false;
        node_each(layer, list) if (layer->kind != NODE_STRING ||
                                   !digest_read(layer->text,
                                                &ret->layers[ret->layer_count++])) return false;
        return ret->layer_count > 0;
}

static uint64_t
number_of(const struct node *root, const char *key)
{
        const struct node *n = node_find(root, key);

        return n && n->kind == NODE_INT && n->integer > 0 ? (uint64_t)n->integer : 0;
}

int
record_read(const struct image_store *s, struct arena *arena, const struct digest *id,
            struct image_record *ret, struct error *e)
{
        const struct node *root = NULL;
        char hex[DIGEST_HEX], *base = (char *)ret;

        *ret = (struct image_record){ .id = *id };
        digest_hex(id, hex);
        if (load(s, arena, hex, &root, e) < 0)
                return -1;
        for (const struct record_row *row = record_texts; row->key; row++) {
                const struct node *n = node_find(root, row->key);

                if (n && n->kind == NODE_STRING)
                        *(const char **)(void *)(base + row->offset) = n->text;
        }
        for (const struct record_row *row = record_lists; row->key; row++)
                if (!read_words(arena, node_find(root, row->key), (void *)(base + row->offset)))
                        return damaged(e, hex);
        if (!read_layers(node_find(root, "layers"), ret))
                return damaged(e, hex);
        ret->bytes = number_of(root, "bytes");
        ret->entries = number_of(root, "entries");
        ret->imported_ms = number_of(root, "imported_ms");
        return 0;
}
