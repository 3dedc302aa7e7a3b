/*
 * fuzz/json.c - any bytes as JSON, and any bytes as a JSON string.
 *
 * Beyond not crashing: what was read is written, read again and written again to the same text;
 * places lie inside the input; and the same bytes written as a string are JSON, whatever they are.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/json.h"

enum { MEMORY_MAX = 64 << 20 };

/* Wide, for what is read again: escapes make a text longer than it was. */
static const struct text_limits wide = { .bytes_max = 8u << 20,
                                         .depth_max = 32,
                                         .nodes_max = 16384 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A broken promise ends the process, in every build type. */
static void
must(int holds)
{
        if (!holds)
                abort();
}

static void
places_check(const struct node *n, size_t len)
{
        must(n->line >= 1 && n->line <= len && n->column >= 1 && n->column <= len);
        if (n->kind != NODE_LIST && n->kind != NODE_MAP) {
                must(strlen(n->text) == n->len);
                return;
        }
        node_each(child, n)
        {
                must((child->key != NULL) == (n->kind == NODE_MAP));
                places_check(child, len);
        }
}

static void
round_trip_check(struct arena *arena, const struct node *root)
{
        struct json_writer first, second;
        const struct node *again = NULL;
        struct error e = { 0 };

        json_init(&first, false);
        json_node(&first, root);
        must(!first.is_broken && !memchr(first.text, '\n', first.len));
        must(json_read(arena, first.text, first.len, &wide, &again, &e) == 0);
        json_init(&second, false);
        json_node(&second, again);
        must(second.len == first.len && memcmp(second.text, first.text, first.len) == 0);
        json_fini(&first);
        json_fini(&second);
}

static void
string_check(struct arena *arena, const char *bytes, size_t len)
{
        const struct node *again = NULL;
        struct json_writer w;
        struct error e = { 0 };

        json_init(&w, false);
        json_bytes(&w, bytes, len);
        if (!memchr(bytes, '\0', len)) /* a NUL is written, and refused when read */
                must(json_read(arena, w.text, w.len, &wide, &again, &e) == 0 &&
                     again->kind == NODE_STRING);
        json_fini(&w);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        const char *bytes = (const char *)data;
        const struct node *root = NULL;
        struct error e = { 0 };
        struct arena arena;

        arena_init(&arena, MEMORY_MAX);
        if (json_read(&arena, bytes, len, &text_limits_manifest, &root, &e) == 0) {
                places_check(root, len);
                round_trip_check(&arena, root);
        } else {
                must(e.code != ERROR_NONE && e.message[0] != '\0' && root == NULL);
        }
        if (len > 0)
                string_check(&arena, bytes, len);
        arena_fini(&arena);
        return 0;
}
