/*
 * image/record.c - what the store knows of an image.
 *
 * Room: image (joining). Touches: fd (records of the store).
 */
#include "image/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/scoped.h"
#include "text/json.h"

enum { RECORD_MAX = OCI_DOCUMENT_MAX };

static const struct text_limits record_limits = { RECORD_MAX, 8, 1 << 16 };

/* The members that are one text. */
static const struct text_row {
        const char *key;
        size_t offset;
} text_rows[] = {
        { "os", offsetof(struct image_record, os) },
        { "architecture", offsetof(struct image_record, architecture) },
        { "created", offsetof(struct image_record, created) },
        { "cwd", offsetof(struct image_record, cwd) },
        { "user", offsetof(struct image_record, user) },
        { "source", offsetof(struct image_record, source) },
};
static const struct text_row list_rows[] = {
        { "environment", offsetof(struct image_record, environment) },
        { "entrypoint", offsetof(struct image_record, entrypoint) },
        { "command", offsetof(struct image_record, command) },
};

#define ROWS(table) (sizeof(table) / sizeof *(table))

/* -- writing ----------------------------------------------------------------------------------- */

static void
write_words(struct json_writer *w, const struct oci_words *words)
{
        json_open_list(w);
        for (size_t i = 0; i < words->count; i++)
                json_text(w, words->items[i]);
        json_close_list(w);
}

static void
write_members(struct json_writer *w, const struct image_record *r)
{
        const char *base = (const char *)r;

        for (size_t i = 0; i < ROWS(text_rows); i++) {
                json_key(w, text_rows[i].key);
                json_text(w, *(const char *const *)(const void *)(base + text_rows[i].offset));
        }
        for (size_t i = 0; i < ROWS(list_rows); i++) {
                json_key(w, list_rows[i].key);
                write_words(w, (const void *)(base + list_rows[i].offset));
        }
}

int
record_write(struct image_store *s, const struct image_record *r, struct error *e)
{
        char hex[DIGEST_HEX], text[DIGEST_TEXT];
        struct json_writer w;
        int result;

        json_init(&w, true);
        json_open_map(&w);
        write_members(&w, r);
        json_key(&w, "layers");
        json_open_list(&w);
        for (size_t i = 0; i < r->layer_count; i++) {
                digest_text(&r->layers[i], text);
                json_text(&w, text);
        }
        json_close_list(&w);
        json_key(&w, "bytes");
        json_uint(&w, r->bytes);
        json_key(&w, "entries");
        json_uint(&w, r->entries);
        json_key(&w, "imported_ms");
        json_uint(&w, r->imported_ms);
        json_close_map(&w);
        digest_hex(&r->id, hex);
        result = w.is_broken ? fail(e, ERROR_NO_MEMORY, "no memory for an image's record")
                             : image_store_write(s, s->records, hex, w.text, w.len, e);
        json_fini(&w);
        return result;
}

/* -- reading ----------------------------------------------------------------------------------- */

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
        char *text;

        if (fd < 0 && errno == ENOENT)
                return fail(e, ERROR_IMAGE_NOT_FOUND, "there is no image %.12s", hex);
        if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0 || st.st_size > RECORD_MAX)
                return damaged(e, hex);
        text = arena_alloc(arena, (size_t)st.st_size);
        if (!text)
                return fail(e, ERROR_NO_MEMORY, "no memory for an image's record");
        if (read(fd, text, (size_t)st.st_size) != st.st_size ||
            json_read(arena, text, (size_t)st.st_size, &record_limits, ret, e) < 0 ||
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
        for (size_t i = 0; i < ROWS(text_rows); i++) {
                const struct node *n = node_find(root, text_rows[i].key);

                if (n && n->kind == NODE_STRING)
                        *(const char **)(void *)(base + text_rows[i].offset) = n->text;
        }
        for (size_t i = 0; i < ROWS(list_rows); i++)
                if (!read_words(arena, node_find(root, list_rows[i].key),
                                (void *)(base + list_rows[i].offset)))
                        return damaged(e, hex);
        if (!read_layers(node_find(root, "layers"), ret))
                return damaged(e, hex);
        ret->bytes = number_of(root, "bytes");
        ret->entries = number_of(root, "entries");
        ret->imported_ms = number_of(root, "imported_ms");
        return 0;
}
