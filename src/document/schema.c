/*
 * document/schema.c - the table of fields as JSON Schema.
 *
 * Room: document (deciding, pure). Touches: mem (the writer's).
 * Theory: one function for each shape, and one traversal. This file knows no single field.
 */
#include "document/schema.h"

#include <inttypes.h>
#include <string.h>

#include "document/kind.h"

static void kind_write(struct json_writer *w, const struct document_kind *kind, const char *help);

static void
types(struct json_writer *w, const char *one, const char *other)
{
        json_key(w, "type");
        json_open_list(w);
        json_text(w, one);
        json_text(w, other);
        json_close_list(w);
}

static void
choices_write(struct json_writer *w, const struct document_kind *kind)
{
        if (!kind->choices[1]) {
                json_member_text(w, "const", kind->choices[0]);
                return;
        }
        json_key(w, "enum");
        json_open_list(w);
        for (const char *const *choice = kind->choices; *choice; choice++)
                json_text(w, *choice);
        json_close_list(w);
}

static void
any_write(struct json_writer *w, const struct document_kind *kind)
{
        (void)kind;
        json_key(w, "not");
        json_open_map(w);
        json_member_text(w, "type", "null");
        json_close_map(w);
}

static void
free_write(struct json_writer *w, const struct document_kind *kind)
{
        (void)w;
        (void)kind;
}

static void
text_write(struct json_writer *w, const struct document_kind *kind)
{
        json_member_text(w, "type", "string");
        if (kind->pattern)
                json_member_text(w, "pattern", kind->pattern);
        else
                json_member_int(w, "minLength", 1);
}

static void
path_write(struct json_writer *w, const struct document_kind *kind)
{
        (void)kind;
        json_member_text(w, "type", "string");
        json_member_text(w, "pattern", "^/");
}

static void
amount_write(struct json_writer *w, const struct document_kind *kind)
{
        types(w, "string", "number");
        json_member_text(w, "pattern", kind->pattern);
        json_key(w, "exclusiveMinimum");
        json_int(w, 0);
}

static void
bool_write(struct json_writer *w, const struct document_kind *kind)
{
        (void)kind;
        json_member_text(w, "type", "boolean");
}

static void
number_write(struct json_writer *w, const struct document_kind *kind)
{
        bool is_integer = kind->shape == DOCUMENT_INTEGER;

        json_member_text(w, "type", is_integer ? "integer" : "number");
        json_member_int(w, "minimum", is_integer);
        if (is_integer && kind->max < INT64_MAX)
                json_member_int(w, "maximum", kind->max);
}

static void
map_write(struct json_writer *w, const struct document_kind *kind)
{
        json_member_text(w, "type", "object");
        if (!kind->members) {
                json_member_int(w, "minProperties", 1);
                return;
        }
        json_key(w, "required");
        json_open_list(w);
        for (size_t i = 0; i < kind->member_count; i++)
                if (kind->members[i].is_required)
                        json_text(w, kind->members[i].name);
        json_close_list(w);
        json_key(w, "properties");
        json_open_map(w);
        for (size_t i = 0; i < kind->member_count; i++) {
                json_key(w, kind->members[i].name);
                kind_write(w, kind->members[i].kind, kind->members[i].help);
        }
        json_close_map(w);
}

static void
list_write(struct json_writer *w, const struct document_kind *kind)
{
        json_member_text(w, "type", "array");
        if (kind->min > 0)
                json_member_int(w, "minItems", (int64_t)kind->min);
        json_key(w, "items");
        kind_write(w, kind->item, NULL);
}

/* anyOf: two kinds */
static void
either_write(struct json_writer *w, const struct document_kind *one,
             const struct document_kind *other)
{
        json_key(w, "anyOf");
        json_open_list(w);
        kind_write(w, one, NULL);
        kind_write(w, other, NULL);
        json_close_list(w);
}

static void
text_or_map_write(struct json_writer *w, const struct document_kind *kind)
{
        static const struct document_kind text = { .shape = DOCUMENT_TEXT },
                                          map = { .shape = DOCUMENT_MAP };

        (void)kind;
        either_write(w, &text, &map);
}

static void
choice_list_write(struct json_writer *w, const struct document_kind *kind)
{
        const struct document_kind one = { .shape = DOCUMENT_CHOICE, .choices = kind->choices },
                                   many = { .shape = DOCUMENT_LIST, .item = &one, .min = 1 };

        either_write(w, &one, &many);
}

static void
term_write(struct json_writer *w, const struct document_kind *kind)
{
        static const char *const forever[] = { "forever", NULL };
        const struct document_kind duration = { .shape = DOCUMENT_PATTERN,
                                                .pattern = kind->pattern },
                                   always = { .shape = DOCUMENT_WORD, .choices = forever };

        json_key(w, "anyOf");
        json_open_list(w);
        kind_write(w, &duration, NULL);
        kind_write(w, &always, NULL);
        json_open_map(w);
        json_member_text(w, "type", "object");
        json_key(w, "required");
        json_open_list(w);
        json_text(w, "default");
        json_close_list(w);
        json_key(w, "properties");
        json_open_map(w);
        json_key(w, "default");
        json_open_map(w);
        either_write(w, &duration, &always);
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
        json_close_list(w);
}

static void
controls_write(struct json_writer *w, const struct document_kind *kind)
{
        static const char *const words[] = { "enforced", "configurable", NULL };
        static const struct document_kind text = { .shape = DOCUMENT_TEXT },
                                          flag = { .shape = DOCUMENT_BOOL },
                                          word = { .shape = DOCUMENT_CHOICE, .choices = words };

        json_member_text(w, "type", "array");
        json_member_int(w, "minItems", (int64_t)kind->min);
        json_key(w, "items");
        json_open_map(w);
        json_key(w, "anyOf");
        json_open_list(w);
        kind_write(w, &text, NULL);
        json_open_map(w);
        json_member_text(w, "type", "object");
        json_key(w, "required");
        json_open_list(w);
        json_text(w, "control");
        json_close_list(w);
        json_key(w, "properties");
        json_open_map(w);
        json_key(w, "control");
        kind_write(w, &text, NULL);
        json_key(w, "enforced");
        json_open_map(w);
        either_write(w, &flag, &word);
        json_close_map(w);
        json_close_map(w);
        json_close_map(w);
        json_close_list(w);
        json_close_map(w);
}

static void
kind_write(struct json_writer *w, const struct document_kind *kind, const char *help)
{
        static void (*const write[])(struct json_writer *, const struct document_kind *) = {
                [DOCUMENT_FREE] = free_write,         [DOCUMENT_ANY] = any_write,
                [DOCUMENT_TEXT] = text_write,         [DOCUMENT_PATTERN] = text_write,
                [DOCUMENT_AMOUNT] = amount_write,     [DOCUMENT_TEXT_OR_MAP] = text_or_map_write,
                [DOCUMENT_BOOL] = bool_write,         [DOCUMENT_NUMBER] = number_write,
                [DOCUMENT_INTEGER] = number_write,    [DOCUMENT_WORD] = choices_write,
                [DOCUMENT_CHOICE] = choices_write,    [DOCUMENT_CHOICES] = choice_list_write,
                [DOCUMENT_PATH] = path_write,         [DOCUMENT_HOST] = text_write,
                [DOCUMENT_AUTH] = text_write,         [DOCUMENT_TERM] = term_write,
                [DOCUMENT_LIST] = list_write,         [DOCUMENT_MAP] = map_write,
                [DOCUMENT_CONTROLS] = controls_write,
        };

        json_open_map(w);
        if (help)
                json_member_text(w, "description", help);
        write[kind->shape](w, kind);
        json_close_map(w);
}

void
document_schema_write(struct json_writer *w)
{
        json_open_map(w);
        json_member_text(w, "$schema", "https://json-schema.org/draft/2020-12/schema");
        json_member_text(w, "$id", "urn:carrel:schema:sandbox-document:1");
        json_member_text(w, "title", "Agent sandbox document (Geodocs draft 1.0)");
        map_write(w, &document_kind);
        json_close_map(w);
}
