/*
 * cli/image_print.c - prints the images of a store, for people or as JSON.
 *
 * Room: cli (joining, program). Touches: fd (standard streams).
 */
#include "cli/image_print.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/ask.h"
#include "cli/finding_print.h"
#include "cli/size_text.h"
#include "text/json.h"

enum { SHORT_ID = 12 };

static void
json_digest(struct json_writer *w, const char *key, const struct digest *d)
{
        char text[DIGEST_TEXT];

        digest_text(d, text);
        json_member_text(w, key, text);
}

static void
json_member_uint(struct json_writer *w, const char *key, uint64_t value)
{
        json_key(w, key);
        json_uint(w, value);
}

static const char *
plural(size_t count)
{
        return count == 1 ? "" : "s";
}

/* -- import ------------------------------------------------------------------------------------ */

int
image_print_imported(const struct image_imported *i, bool is_json)
{
        char size[SIZE_TEXT], hex[DIGEST_HEX];
        struct json_writer w;

        if (!is_json) {
                digest_hex(&i->id, hex);
                (void)printf("%s  %.*s  %zu layer%s (%zu new), %s\n", i->name, SHORT_ID, hex,
                             i->layers, plural(i->layers), i->new_layers,
                             size_text(i->bytes, size));
                if (i->left_out > 0)
                        (void)fprintf(stderr, "carrel: %" PRIu64 " device%s or socket%s left out\n",
                                      i->left_out, plural(i->left_out), plural(i->left_out));
                return 0;
        }
        json_init(&w, true);
        json_open_map(&w);
        json_member_text(&w, "name", i->name);
        json_digest(&w, "id", &i->id);
        json_member_uint(&w, "layers", i->layers);
        json_member_uint(&w, "new_layers", i->new_layers);
        json_member_uint(&w, "size", i->bytes);
        json_member_uint(&w, "left_out", i->left_out);
        json_close_map(&w);
        return json_print(&w, stdout);
}

/* -- ls ---------------------------------------------------------------------------------------- */

static const char *const heads[] = { "NAME", "ID", "LAYERS", "SIZE", "IMPORTED" };

static void
print_row(struct table *t, FILE *out, const void *item)
{
        const struct image_row *row = item;
        char hex[DIGEST_HEX], layers[24], size[SIZE_TEXT], age[SPAN_TEXT];
        const char *cells[] = { row->name, hex, layers, size_text(row->bytes, size),
                                span_text(span_since(row->imported_ms), age) };

        digest_hex(&row->id, hex);
        hex[SHORT_ID] = '\0';
        (void)snprintf(layers, sizeof layers, "%zu", row->layers);
        table_row(t, out, cells, sizeof cells / sizeof *cells);
}

static int
print_rows_json(const struct image_row *rows, size_t count)
{
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        json_key(&w, "items");
        json_open_list(&w);
        for (size_t i = 0; i < count; i++) {
                json_open_map(&w);
                json_member_text(&w, "name", rows[i].name);
                json_digest(&w, "id", &rows[i].id);
                json_member_uint(&w, "layers", rows[i].layers);
                json_member_uint(&w, "size", rows[i].bytes);
                json_member_uint(&w, "imported_at_ms", rows[i].imported_ms);
                json_close_map(&w);
        }
        json_close_list(&w);
        json_close_map(&w);
        return json_print(&w, stdout);
}

int
image_print_list(const struct image_row *rows, size_t count, bool is_json, bool is_quiet)
{
        if (is_json)
                return print_rows_json(rows, count);
        for (size_t i = 0; i < count && is_quiet; i++)
                (void)puts(rows[i].name);
        if (!is_quiet)
                list_print(&(struct list){ rows, count, sizeof *rows,
                                           "No images. To add one: carrel image import FILE NAME",
                                           heads, sizeof heads / sizeof *heads, print_row });
        return 0;
}

/* -- show -------------------------------------------------------------------------------------- */

static void
json_words(struct json_writer *w, const char *key, const struct oci_words *words)
{
        json_key(w, key);
        json_open_list(w);
        for (size_t i = 0; i < words->count; i++)
                json_text(w, words->items[i]);
        json_close_list(w);
}

static int
print_record_json(const char *name, const struct image_record *r)
{
        char text[DIGEST_TEXT];
        struct json_writer w;

        json_init(&w, true);
        json_open_map(&w);
        json_member_text(&w, "name", name);
        json_digest(&w, "id", &r->id);
        json_member_text(&w, "os", r->os);
        json_member_text(&w, "architecture", r->architecture);
        json_member_text(&w, "created", r->created);
        json_member_text(&w, "source", r->source);
        json_member_text(&w, "cwd", r->cwd);
        json_member_text(&w, "user", r->user);
        json_words(&w, "environment", &r->environment);
        json_words(&w, "entrypoint", &r->entrypoint);
        json_words(&w, "command", &r->command);
        json_key(&w, "layers");
        json_open_list(&w);
        for (size_t i = 0; i < r->layer_count; i++) {
                digest_text(&r->layers[i], text);
                json_text(&w, text);
        }
        json_close_list(&w);
        json_member_uint(&w, "size", r->bytes);
        json_member_uint(&w, "entries", r->entries);
        json_member_uint(&w, "imported_at_ms", r->imported_ms);
        json_close_map(&w);
        return json_print(&w, stdout);
}

static void
print_line(const char *key, const char *value)
{
        if (!value)
                return;
        (void)printf("%-14s", key);
        print_escaped(stdout, value, false);
        (void)putchar('\n');
}

static void
print_words(const char *key, const struct oci_words *words)
{
        for (size_t i = 0; i < words->count; i++)
                print_line(i == 0 ? key : "", words->items[i]);
}

int
image_print(const char *name, const struct image_record *r, bool is_json)
{
        char text[DIGEST_TEXT], size[SIZE_TEXT];

        if (is_json)
                return print_record_json(name, r);
        digest_text(&r->id, text);
        print_line("image", name);
        print_line("id", text);
        print_line("architecture", r->architecture);
        print_line("created", r->created);
        print_line("source", r->source);
        print_line("size", size_text(r->bytes, size));
        print_line("directory", r->cwd);
        print_line("user", r->user);
        print_words("environment", &r->environment);
        print_words("entry point", &r->entrypoint);
        print_words("command", &r->command);
        for (size_t i = 0; i < r->layer_count; i++) {
                digest_text(&r->layers[i], text);
                print_line(i == 0 ? "layers" : "", text);
        }
        return 0;
}

/* -- rm and prune ------------------------------------------------------------------------------ */

int
image_print_disk(const char *name, bool is_new, bool is_json)
{
        struct json_writer w;

        if (!is_json) {
                (void)printf("%s  %s\n", name, is_new ? "disk made" : "has a disk");
                return 0;
        }
        json_init(&w, true);
        json_open_map(&w);
        json_member_text(&w, "image", name);
        json_member_bool(&w, "is_new", is_new);
        json_close_map(&w);
        return json_print(&w, stdout);
}

int
image_print_machine(const char *name, uint64_t bytes, bool is_json)
{
        char size[SIZE_TEXT];
        struct json_writer w;

        if (!is_json) {
                (void)(bytes > 0 ? printf("%s  machine saved, %s\n", name, size_text(bytes, size))
                                 : printf("%s  has no saved machine\n", name));
                return 0;
        }
        json_init(&w, true);
        json_open_map(&w);
        json_member_text(&w, "image", name);
        json_member_int(&w, "bytes", (int64_t)bytes);
        json_close_map(&w);
        return json_print(&w, stdout);
}

int
image_print_collected(const struct image_collected *c, bool is_json)
{
        char size[SIZE_TEXT];
        struct json_writer w;

        if (!is_json) {
                (void)fprintf(stderr, "carrel: %zu image%s and %zu layer%s removed, %s\n",
                              c->images, plural(c->images), c->layers, plural(c->layers),
                              size_text(c->bytes, size));
                if (c->in_use > 0)
                        (void)fprintf(stderr,
                                      "carrel: %zu layer%s stay%s, because a sandbox uses %s\n",
                                      c->in_use, plural(c->in_use), c->in_use == 1 ? "s" : "",
                                      c->in_use == 1 ? "it" : "them");
                if (c->is_busy)
                        (void)fprintf(stderr, "carrel: an import is running: layers are removed by "
                                              "the next `carrel image prune`\n");
                return 0;
        }
        json_init(&w, true);
        json_open_map(&w);
        json_member_uint(&w, "images", c->images);
        json_member_uint(&w, "layers", c->layers);
        json_member_uint(&w, "in_use", c->in_use);
        json_member_uint(&w, "size", c->bytes);
        json_member_bool(&w, "busy", c->is_busy);
        json_close_map(&w);
        return json_print(&w, stdout);
}
