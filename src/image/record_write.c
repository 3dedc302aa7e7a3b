/*
 * image/record_write.c - writes what the store knows of an image.
 *
 * Room: image (joining). Touches: fd (records of the store).
 */
#include "image/record.h"

#include "text/json.h"
#include "text/tree_pack.h"

enum { RECORD_MEMORY = 8 * RECORD_MAX };

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

        for (const struct record_row *row = record_texts; row->key; row++) {
                json_key(w, row->key);
                json_text(w, *(const char *const *)(const void *)(base + row->offset));
        }
        for (const struct record_row *row = record_lists; row->key; row++) {
                json_key(w, row->key);
                write_words(w, (const void *)(base + row->offset));
        }
}

static void
write_record(struct json_writer *w, const struct image_record *r)
{
        char text[DIGEST_TEXT];

        json_open_map(w);
        write_members(w, r);
        json_key(w, "layers");
        json_open_list(w);
        for (size_t i = 0; i < r->layer_count; i++) {
                digest_text(&r->layers[i], text);
                json_text(w, text);
        }
        json_close_list(w);
        json_key(w, "bytes");
        json_uint(w, r->bytes);
        json_key(w, "entries");
        json_uint(w, r->entries);
        json_key(w, "imported_ms");
        json_uint(w, r->imported_ms);
        json_close_map(w);
}

static int
no_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "no memory for an image's record");
}

/* The tree of a record's text, packed. */
static int
pack(struct arena *arena, const char *text, size_t text_len, const void **ret, size_t *ret_len,
     struct error *e)
{
        const struct node *root;
        void *bytes;

        *ret = NULL;
        *ret_len = 0;
        if (json_read(arena, text, text_len, &record_limits, &root, e) < 0)
                return -1;
        *ret_len = tree_pack_len(root);
        bytes = *ret_len <= RECORD_MAX ? arena_alloc(arena, *ret_len) : NULL;
        if (!bytes)
                return no_memory(e);
        tree_pack(root, bytes);
        *ret = bytes;
        return 0;
}

int
record_write(struct image_store *s, const struct image_record *r, struct error *e)
{
        char hex[DIGEST_HEX];
        struct json_writer w;
        struct arena arena;
        const void *bytes = NULL;
        size_t len = 0;
        int result;

        arena_init(&arena, RECORD_MEMORY);
        json_init(&w, false);
        write_record(&w, r);
        digest_hex(&r->id, hex);
        result = w.is_broken ? no_memory(e) : pack(&arena, w.text, w.len, &bytes, &len, e);
        if (result == 0)
                result = image_store_write(s, s->records, hex, bytes, len, e);
        json_fini(&w);
        arena_fini(&arena);
        return result;
}
