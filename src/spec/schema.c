/*
 * spec/schema.c - the field tables as JSON Schema.
 *
 * Room: spec (deciding, pure). Touches: mem (the writer's).
 * Theory: one function for each kind of field, and one traversal. This file knows no single field.
 */
#include "spec/schema.h"

#include "spec/provider.h"
#include "spec/section.h"

static void field_write(struct json_writer *w, const struct field *row);

static void
uint_member(struct json_writer *w, const char *key, uint64_t value)
{
        json_key(w, key);
        json_uint(w, value);
}

static void
text_write(struct json_writer *w, const struct field *row)
{
        json_member_text(w, "type", "string");
        if (row->min)
                uint_member(w, "minLength", row->min);
        if (row->max)
                uint_member(w, "maxLength", row->max);
        if (row->pattern)
                json_member_text(w, "pattern", row->pattern);
}

static void
uint_write(struct json_writer *w, const struct field *row)
{
        json_member_text(w, "type", "integer");
        uint_member(w, "minimum", row->min);
        uint_member(w, "maximum", row->max);
        if (row->fallback != SPEC_UNSET)
                uint_member(w, "default", row->fallback);
}

static void
choice_write(struct json_writer *w, const struct field *row)
{
        if (!row->choices[1]) {
                json_member_text(w, "const", row->choices[0]);
                return;
        }
        json_key(w, "enum");
        json_open_list(w);
        for (const char *const *choice = row->choices; *choice; choice++)
                json_text(w, *choice);
        json_close_list(w);
}

static bool
is_listed(const struct field *row)
{
        return row->kind != FIELD_UNSUPPORTED && !(row->flags & FIELD_UNLISTED);
}

static void
members_write(struct json_writer *w, const struct field_set *set)
{
        json_member_text(w, "type", "object");
        if (!set)
                return;
        if (!set->is_open)
                json_member_bool(w, "additionalProperties", false);
        json_key(w, "required");
        json_open_list(w);
        for (size_t i = 0; i < set->count; i++)
                if (set->rows[i].flags & FIELD_REQUIRED)
                        json_text(w, set->rows[i].name);
        json_close_list(w);
        if (set->is_open)
                return; /* another document describes its members */
        json_key(w, "properties");
        json_open_map(w);
        for (size_t i = 0; i < set->count; i++)
                if (is_listed(&set->rows[i])) {
                        json_key(w, set->rows[i].name);
                        field_write(w, &set->rows[i]);
                }
        json_close_map(w);
}

static void
list_write(struct json_writer *w, const struct field *row)
{
        json_member_text(w, "type", "array");
        if (row->min)
                uint_member(w, "minItems", row->min);
        if (row->max)
                uint_member(w, "maxItems", row->max);
        if (row->item) {
                json_key(w, "items");
                field_write(w, row->item);
        }
}

static void
forms_write(struct json_writer *w, const struct field *row)
{
        json_key(w, "anyOf");
        json_open_list(w);
        for (size_t i = 0; i < row->members->count; i++)
                field_write(w, &row->members->rows[i]);
        json_close_list(w);
}

static void
map_write(struct json_writer *w, const struct field *row)
{
        members_write(w, row->members);
}

static void
bool_write(struct json_writer *w, const struct field *row)
{
        (void)row;
        json_member_text(w, "type", "boolean");
}

static void
field_write(struct json_writer *w, const struct field *row)
{
        static void (*const write[])(struct json_writer *, const struct field *) = {
                [FIELD_TEXT] = text_write,     [FIELD_UINT] = uint_write, [FIELD_BOOL] = bool_write,
                [FIELD_CHOICE] = choice_write, [FIELD_MAP] = map_write,   [FIELD_LIST] = list_write,
                [FIELD_ONE_OF] = forms_write,
        };

        json_open_map(w);
        if (row->help)
                json_member_text(w, "description", row->help);
        write[row->kind](w, row);
        if (row->flags & FIELD_OLD)
                json_member_bool(w, "deprecated", true);
        json_close_map(w);
}

/* if provider is X then config is Y */
static void
provider_write(struct json_writer *w, const struct provider *provider)
{
        const struct field id = { .kind = FIELD_CHOICE,
                                  .choices = (const char *const[]){ provider->id, NULL } };
        const struct field config = { .kind = FIELD_MAP, .members = provider->config };

        json_open_map(w);
        json_key(w, "if");
        json_open_map(w);
        json_key(w, "properties");
        json_open_map(w);
        json_key(w, "provider");
        field_write(w, &id);
        json_close_map(w);
        json_key(w, "required");
        json_open_list(w);
        json_text(w, "provider");
        json_close_list(w);
        json_close_map(w);
        json_key(w, "then");
        json_open_map(w);
        json_key(w, "properties");
        json_open_map(w);
        json_key(w, "config");
        field_write(w, &config);
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
}

void
spec_schema_members_write(struct json_writer *w, const struct field_set *set)
{
        members_write(w, set);
}

void
spec_schema_write(struct json_writer *w)
{
        json_open_map(w);
        json_member_text(w, "$schema", "https://json-schema.org/draft/2020-12/schema");
        json_member_text(w, "$id", "urn:carrel:schema:aip36-block:1");
        json_member_text(w, "title", "AIP-36 sandbox block");
        members_write(w, &block_set);
        json_key(w, "allOf");
        json_open_list(w);
        for (size_t i = 0; i < provider_count; i++)
                if (providers[i].config)
                        provider_write(w, &providers[i]);
        json_close_list(w);
        json_key(w, "$defs");
        json_open_map(w);
        json_key(w, "metadata.carrel");
        json_open_map(w);
        members_write(w, &carrel_set);
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
}
