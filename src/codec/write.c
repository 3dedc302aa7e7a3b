/*
 * codec/write.c - converts records to JSON.
 *
 * Room: codec (deciding). Touches: mem.
 */
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"
#include "codec/codec.h"
#include "codec/encode.h"

enum { METADATA_MEMORY = 4 << 20 };

static const struct text_limits metadata_limits = { .bytes_max = 128 * 1024,
                                                    .depth_max = 64,
                                                    .nodes_max = 65536 };

/* Is it a list in some answer? Then it is one in every record. */
static bool
is_list(uint16_t tag)
{
        const struct api_type *type;
        size_t at = 0;

        while ((type = api_type_next(&at)) != NULL)
                for (size_t i = 0; i < type->count; i++)
                        if (type->members[i].tag == tag)
                                return (type->members[i].flags & PARAM_REPEATED) != 0;
        return false;
}

/*
 * Returns the caller's own JSON unchanged. It is parsed again, so that the output is always valid
 * JSON.
 */
static void
write_json(struct json_writer *w, const char *text, size_t len)
{
        const struct node *root;
        struct arena arena;
        struct error e;

        arena_init(&arena, METADATA_MEMORY);
        if (json_read(&arena, text, len, &metadata_limits, &root, &e) == 0)
                json_node(w, root);
        else
                json_none(w);
        arena_fini(&arena);
}

static void write_members(struct json_writer *w, const struct api_type *type,
                          const struct api_type *item, const struct record *r, int is_base64);

/* `type`: of a nested record; NULL: it is written in its own order. */
static void
write_value(struct json_writer *w, const struct api_type *type, const struct record_entry *entry,
            int is_base64)
{
        struct record inner = { entry->value, entry->len };

        switch (entry->type) {
        case RECORD_UINT:
                json_uint(w, *(const uint64_t *)entry->value);
                break;
        case RECORD_INT:
                json_int(w, *(const int64_t *)entry->value);
                break;
        case RECORD_BOOL:
                json_bool(w, *(const uint64_t *)entry->value != 0);
                break;
        case RECORD_TEXT:
                json_bytes(w, entry->value, entry->len - 1);
                break;
        case RECORD_JSON:
                write_json(w, entry->value, entry->len - 1);
                break;
        case RECORD_NESTED:
                json_open_map(w);
                if (type)
                        write_members(w, type, NULL, &inner, is_base64);
                else
                        codec_write_all(w, &inner, is_base64);
                json_close_map(w);
                break;
        default:
                json_none(w);
        }
}

static void
write_list(struct json_writer *w, const char *name, uint16_t tag, const struct api_type *type,
           const struct record *r, int is_base64)
{
        struct record_entry entry;
        size_t at = 0;

        json_key(w, name);
        json_open_list(w);
        while (record_next(r, &at, &entry) > 0)
                if (entry.tag == tag)
                        write_value(w, type, &entry, is_base64);
        json_close_list(w);
}

void
codec_write_list(struct json_writer *w, const char *name, uint16_t tag, const struct record *r,
                 int is_base64)
{
        write_list(w, name, tag, api_type_nested(tag), r, is_base64);
}

void
codec_write_member(struct json_writer *w, const char *name, const struct record_entry *entry,
                   int is_base64)
{
        if (entry->type == RECORD_BYTES) {
                encode_member(w, name, entry->value, entry->len, is_base64);
        } else {
                json_key(w, name);
                write_value(w, api_type_nested(entry->tag), entry, is_base64);
        }
}

/* `item`: the type of FIELD_ITEMS, or NULL. */
static void
write_members(struct json_writer *w, const struct api_type *type, const struct api_type *item,
              const struct record *r, int is_base64)
{
        struct record_entry entry;
        bool has_bytes = false;

        for (size_t i = 0; i < type->count; i++) {
                const struct api_param *p = &type->members[i];
                const struct api_field *f = api_field(p->tag);
                bool is_there = record_find(r, p->tag, &entry) > 0;

                if ((p->flags & PARAM_REPEATED) != 0) {
                        if (is_there || (p->flags & PARAM_SPARSE) == 0)
                                write_list(w, f->name, p->tag,
                                           p->tag == FIELD_ITEMS ? item : api_type_nested(p->tag),
                                           r, is_base64);
                } else if (is_there) {
                        codec_write_member(w, f->name, &entry, is_base64);
                        has_bytes = has_bytes || entry.type == RECORD_BYTES;
                }
        }
        if (has_bytes && is_base64)
                json_member_text(w, "encoding", "base64");
}

void
codec_write(struct json_writer *w, const struct operation *o, const struct record *r, int is_base64)
{
        if (o->result)
                write_members(w, o->result, o->item, r, is_base64);
}

void
codec_write_items(struct json_writer *w, const struct operation *o, const struct record *r,
                  int is_base64)
{
        struct record_entry entry;
        size_t at = 0;

        while (record_next(r, &at, &entry) > 0)
                if (entry.tag == FIELD_ITEMS && entry.type == RECORD_NESTED)
                        write_value(w, o->item, &entry, is_base64);
}

void
codec_write_all(struct json_writer *w, const struct record *r, int is_base64)
{
        struct record_entry entry, first;
        size_t at = 0;

        while (record_next(r, &at, &entry) > 0) {
                const struct api_field *f = api_field(entry.tag);

                if (!f || !record_find(r, entry.tag, &first) || first.value != entry.value)
                        continue;
                if (is_list(entry.tag))
                        codec_write_list(w, f->name, entry.tag, r, is_base64);
                else
                        codec_write_member(w, f->name, &entry, is_base64);
        }
}
