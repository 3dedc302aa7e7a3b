/*
 * codec/read.c - converts JSON, path and query to the record of a call.
 *
 * Room: codec (deciding). Touches: mem.
 * Theory: the operation table defines each field; this file only defines how JSON and URLs spell
 * each type. An unknown name is an error that suggests the nearest known name, so a misspelt option
 * is never ignored.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/query.h"
#include "codec/codec.h"
#include "codec/encode.h"
#include "manifest/frontmatter.h"
#include "text/nearest.h"
#include "text/tree_pack.h"
#include "text/yaml.h"

enum { BOOL_WORD_MAX = 8 /* letters; "false" has 5 */, WORD_MAX = 16, NAME_SHOWN = 60 };

static const struct text_limits body_limits = { .bytes_max = BODY_MAX,
                                                .depth_max = 64,
                                                .nodes_max = 65536 };

/* -- names ------------------------------------------------------------------------------------- */

static int
unknown(const struct operation *o, unsigned where, const char *name, const struct node *at,
        struct error *e)
{
        struct nearest n = nearest_begin(name);

        for (size_t i = 0; i < o->param_count; i++) {
                const char *known = api_field(o->params[i].tag)->name;

                if ((o->params[i].flags & PARAM_PLACES) != where)
                        continue;
                (void)nearest_try(&n, known, known);
                if (o->params[i].tag == FIELD_ARGV) /* its name in other programs */
                        (void)nearest_try(&n, "cmd", known);
        }
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, name, "unknown_field", "%s takes no %.60s%s%s%s",
                      o->name, name, n.found ? "; did you mean " : "", n.found ? n.found : "",
                      n.found ? "?" : "");
        error_hint(e, "GET /v1/openapi.json lists what each route takes.");
        if (at) {
                e->line = at->key_line;
                e->column = at->key_column;
        }
        return -1;
}

static const struct api_param *
param_named(const struct operation *o, unsigned where, const char *name)
{
        for (size_t i = 0; i < o->param_count; i++)
                if ((o->params[i].flags & PARAM_PLACES) == where &&
                    (o->params[i].flags & PARAM_DOOR_ONLY) == 0 &&
                    strcmp(api_field(o->params[i].tag)->name, name) == 0)
                        return &o->params[i];
        return NULL;
}

/* -- values of a URL --------------------------------------------------------------------------- */

const char *
path_word(const struct path_words *words, const char *name)
{
        for (size_t i = 0; i < words->count; i++)
                if (strlen(name) == strcspn(words->list[i].name, "}") &&
                    strncmp(words->list[i].name, name, strlen(name)) == 0)
                        return words->list[i].value;
        return NULL;
}

/* "true", "1" or no value mean yes; "false" or "0" mean no; any other value is an error. */
static int
read_bool(const char *name, const char *text, bool *ret, struct error *e)
{
        bool is_yes = text[0] == '\0' || strcmp(text, "true") == 0 || strcmp(text, "1") == 0;

        if (!is_yes && strcmp(text, "false") != 0 && strcmp(text, "0") != 0)
                return fail_at(e, ERROR_INVALID_ARGUMENT, name, "type", "%s is true or false",
                               name);
        *ret = is_yes;
        return 0;
}

/* -?[0-9]+ */
static bool
is_whole(const char *text)
{
        text += *text == '-';
        return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static int
write_digits(struct record_writer *w, const struct api_param *p, const char *text, struct error *e)
{
        uint64_t value = 0;

        for (const char *at = text; *at >= '0' && *at <= '9' && value <= p->max; at++)
                value = value > (UINT64_MAX - 9) / 10 ? UINT64_MAX
                                                      : value * 10 + (uint64_t)(*at - '0');
        if (!is_whole(text) || *text == '-' || value < p->min || value > p->max)
                return api_number_wrong(p, is_whole(text) ? "range" : "type",
                                        *text != '\0' ? text : "empty", e);
        record_uint(w, p->tag, value);
        return 0;
}

static int
write_word(struct record_writer *w, const struct api_param *p, const char *text, struct error *e)
{
        const struct api_field *f = api_field(p->tag);
        bool is_yes = false;

        if (f->type == FIELD_TYPE_TEXT) {
                record_text(w, f->tag, text);
                return 0;
        }
        if (f->type == FIELD_TYPE_BOOL) {
                if (read_bool(f->name, text, &is_yes, e) < 0)
                        return -1;
                record_bool(w, f->tag, is_yes);
                return 0;
        }
        return write_digits(w, p, text, e);
}

static int
is_one_of(const char *const *names, const char *name)
{
        for (; names && *names; names++)
                if (strcmp(*names, name) == 0)
                        return 1;
        return 0;
}

/* One name=value of a query, still encoded. */
struct part {
        const char *name, *value;
        size_t name_len, value_len;
};

/* Reads the entry at `at`, and moves `at` past it. Returns false at the end. */
static bool
next_part(const char **at, struct part *ret)
{
        size_t len = strcspn(*at, "&"), name_len = strcspn(*at, "=&");

        if (**at == '\0')
                return false;
        *ret = (struct part){ *at, *at + name_len + (name_len < len), name_len,
                              len - name_len - (name_len < len) };
        *at += len;
        *at += **at == '&';
        return true;
}

static bool
is_named(const struct part *part, const char *name)
{
        return part->name_len == strlen(name) && memcmp(part->name, name, part->name_len) == 0;
}

static int
read_query(struct arena *arena, const struct codec_call *call, struct record_writer *w,
           struct error *e)
{
        const char *at = call->query ? call->query : "";
        struct part part;

        while (next_part(&at, &part)) {
                char *name = arena_alloc(arena, part.name_len + 1),
                     *value = arena_alloc(arena, part.value_len + 1);
                const struct api_param *p;
                size_t used;

                if (!name || !value)
                        return fail(e, ERROR_NO_MEMORY, "there is no memory left for this request");
                if (percent_read(part.name, part.name_len, 1, name, &used) < 0 ||
                    percent_read(part.value, part.value_len, 1, value, &used) < 0)
                        return fail_at(e, ERROR_INVALID_ARGUMENT, "query", "encoding",
                                       "a part of the query is not well encoded");
                if (name[0] == '\0' || is_one_of(call->query_names, name))
                        continue;
                p = param_named(call->operation, PARAM_IN_QUERY, name);
                if (!p)
                        return unknown(call->operation, PARAM_IN_QUERY, name, NULL, e);
                if (write_word(w, p, value, e) < 0)
                        return -1;
        }
        return 0;
}

static const struct api_query *
query_named(const char *method, const char *route, const struct part *part)
{
        const struct api_query *row;
        size_t at = 0;

        while ((row = api_query_next(method, route, &at)))
                if (is_named(part, row->name))
                        return row;
        return NULL;
}

static const struct api_param *
query_param(const struct operation *o, const struct part *part)
{
        for (size_t i = 0; o && i < o->param_count; i++)
                if ((o->params[i].flags & PARAM_IN_QUERY) != 0 &&
                    is_named(part, api_field(o->params[i].tag)->name))
                        return &o->params[i];
        return NULL;
}

static int
unknown_query(const char *method, const char *route, const struct operation *o, const char *name,
              struct error *e)
{
        struct nearest n = nearest_begin(name);
        const struct api_query *row;
        size_t at = 0;

        while ((row = api_query_next(method, route, &at)))
                (void)nearest_try(&n, row->name, row->name);
        for (size_t i = 0; o && i < o->param_count; i++)
                if ((o->params[i].flags & PARAM_IN_QUERY) != 0)
                        (void)nearest_try(&n, api_field(o->params[i].tag)->name,
                                          api_field(o->params[i].tag)->name);
        (void)fail_at(e, ERROR_INVALID_ARGUMENT, name, "unknown_field",
                      "the query of %s %s takes no %.60s%s%s%s", method, route, name,
                      n.found ? "; did you mean " : "", n.found ? n.found : "", n.found ? "?" : "");
        error_hint(e, "GET /v1/openapi.json lists what each route takes.");
        return -1;
}

static int
check_word(const struct api_query *row, const struct part *part, struct error *e)
{
        char value[WORD_MAX + 1] = "?"; /* a longer or badly encoded value matches no word */
        bool ignored;
        size_t used;

        if (part->value_len <= WORD_MAX &&
            percent_read(part->value, part->value_len, 1, value, &used) < 0)
                value[0] = '?';
        if (row->kind == API_QUERY_FLAG)
                return read_bool(row->name, value, &ignored, e);
        for (size_t i = 0; row->kind == API_QUERY_WORD && row->words[i]; i++)
                if (strcmp(row->words[i], value) == 0)
                        return 0;
        return row->kind == API_QUERY_TEXT
                       ? 0
                       : fail_at(e, ERROR_INVALID_ARGUMENT, row->name, "value", "%s is %s%s%s",
                                 row->name, row->words[0], row->words[1] ? " or " : "",
                                 row->words[1] ? row->words[1] : "");
}

int
codec_query_check(const struct operation *o, const char *method, const char *route,
                  const char *query, struct error *e)
{
        const char *at = query, *rest;
        struct part part, other;

        while (next_part(&at, &part)) {
                const struct api_query *row = query_named(method, route, &part);
                char name[NAME_SHOWN + 1];

                if (part.name_len == 0 && part.value_len == 0)
                        continue;
                (void)snprintf(name, sizeof name, "%.*s", (int)part.name_len, part.name);
                /* an encoded name is refused: another reader could decode it to a different name */
                if (!row && !query_param(o, &part))
                        return unknown_query(method, route, o, name, e);
                rest = at;
                while (next_part(&rest, &other))
                        if (other.name_len == part.name_len &&
                            memcmp(other.name, part.name, part.name_len) == 0)
                                return fail_at(e, ERROR_INVALID_ARGUMENT, name, "repeated",
                                               "%s stands more than once in the query", name);
                if (row && check_word(row, &part, e) < 0)
                        return -1;
        }
        return 0;
}

const char *
codec_query(struct arena *arena, const char *query, const char *name)
{
        struct part part;

        while (next_part(&query, &part)) {
                char *value;
                size_t used;

                if (!is_named(&part, name))
                        continue;
                value = arena_alloc(arena, part.value_len + 1);
                return value && percent_read(part.value, part.value_len, 1, value, &used) == 0
                               ? value
                               : NULL;
        }
        return NULL;
}

int
codec_query_bool(const char *query, const char *name, bool *ret, struct error *e)
{
        char value[BOOL_WORD_MAX + 1] = "?"; /* a longer or badly encoded value matches no word */
        struct part part;
        size_t used;

        while (next_part(&query, &part)) {
                if (!is_named(&part, name))
                        continue;
                if (part.value_len <= BOOL_WORD_MAX &&
                    percent_read(part.value, part.value_len, 1, value, &used) < 0)
                        value[0] = '?';
                return read_bool(name, value, ret, e);
        }
        return 0;
}

/* -- values of JSON ---------------------------------------------------------------------------- */

static int
wrong_type(const struct api_field *f, const struct node *n, const char *want, struct error *e)
{
        const char *article = n->kind == NODE_NULL ? "" : n->kind == NODE_INT ? "an " : "a ";

        (void)fail_at(e, ERROR_INVALID_ARGUMENT, f->name, "type", "%s must be %s, not %s%s",
                      f->name, want, article, node_kind_name(n->kind));
        e->line = n->line;
        e->column = n->column;
        if (f->tag == FIELD_COMMAND && n->kind == NODE_LIST)
                error_hint(
                        e,
                        "A list of words is argv, for example {\"argv\": [\"echo\", \"hello\"]}.");
        if (f->tag == FIELD_ARGV && n->kind == NODE_STRING)
                error_hint(e, "A line for the shell is command, for example {\"command\": \"echo "
                              "hello | wc\"}.");
        return -1;
}

static int
write_number(const struct api_param *p, const struct node *n, struct record_writer *w,
             struct error *e)
{
        bool is_number = n->kind == NODE_INT || n->kind == NODE_FLOAT;
        char given[64];

        if (n->kind == NODE_INT && n->integer >= 0 && (uint64_t)n->integer >= p->min &&
            (uint64_t)n->integer <= p->max) {
                if (api_field(p->tag)->type == FIELD_TYPE_INT)
                        record_int(w, p->tag, n->integer);
                else
                        record_uint(w, p->tag, (uint64_t)n->integer);
                return 0;
        }
        (void)snprintf(given, sizeof given, "%s%s", is_number || n->kind == NODE_NULL ? "" : "a ",
                       is_number ? n->text : node_kind_name(n->kind));
        (void)api_number_wrong(p, is_number && is_whole(n->text) ? "range" : "type", given, e);
        e->line = n->line;
        e->column = n->column;
        return -1;
}

static int
write_bytes(struct arena *arena, const struct api_field *f, const struct node *n, int is_base64,
            struct record_writer *w, struct error *e)
{
        unsigned char *bytes;
        size_t len;

        if (!is_base64) {
                record_bytes(w, f->tag, RECORD_BYTES, n->text, n->len);
                return 0;
        }
        bytes = arena_alloc(arena, n->len + 1);
        if (!bytes)
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for this request");
        if (base64_read(n->text, n->len, bytes, &len) < 0)
                return fail_at(e, ERROR_INVALID_ARGUMENT, f->name, "base64", "%s is not base64",
                               f->name);
        record_bytes(w, f->tag, RECORD_BYTES, bytes, len);
        return 0;
}

static int
write_tree(struct arena *arena, const struct node *root, uint16_t tag, struct record_writer *w,
           struct error *e)
{
        size_t len = tree_pack_len(root);
        void *bytes = len <= w->room ? arena_alloc(arena, len) : NULL;

        if (!bytes)
                return fail(e, ERROR_REQUEST_TOO_LARGE, "the manifest is too large");
        tree_pack(root, bytes);
        record_bytes(w, tag, RECORD_TREE, bytes, len);
        return 0;
}

/* A manifest as text: a SANDBOX.md, a YAML block, or JSON. Its places refer to that text. */
static int
write_manifest(struct arena *arena, const struct node *n, struct record_writer *w, struct error *e)
{
        const struct node *root = n;
        struct frontmatter front = { n->text, n->len, 1 };

        if (n->kind == NODE_STRING) {
                if (frontmatter_begins(n->text, n->len) &&
                    frontmatter_find(n->text, n->len, &front, e) < 0)
                        return -1;
                if ((n->text[strspn(n->text, " \t\r\n")] == '{'
                             ? json_read(arena, n->text, n->len, &text_limits_manifest, &root, e)
                             : yaml_read(arena, front.text, front.len, front.first_line,
                                         &text_limits_manifest, &root, e)) < 0)
                        return -1;
        }
        return write_tree(arena, root, FIELD_MANIFEST, w, e);
}

static int
write_json(const struct node *n, uint16_t tag, struct record_writer *w, struct error *e)
{
        struct json_writer json;

        json_init(&json, false);
        json_node(&json, n);
        if (json.is_broken) {
                json_fini(&json);
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for this request");
        }
        record_json(w, tag, json.text);
        json_fini(&json);
        return 0;
}

static int
write_value(struct arena *arena, const struct api_param *p, const struct node *n, int is_base64,
            struct record_writer *w, struct error *e)
{
        const struct api_field *f = api_field(p->tag);
        int is_text = n->kind == NODE_STRING;

        switch (f->type) {
        case FIELD_TYPE_TEXT:
                if (!is_text)
                        return wrong_type(f, n, "a string", e);
                record_text(w, f->tag, n->text);
                return 0;
        case FIELD_TYPE_UINT:
        case FIELD_TYPE_INT:
                return write_number(p, n, w, e);
        case FIELD_TYPE_BOOL:
                if (n->kind != NODE_BOOL)
                        return wrong_type(f, n, "true or false", e);
                record_bool(w, f->tag, n->boolean);
                return 0;
        case FIELD_TYPE_BYTES:
                return is_text ? write_bytes(arena, f, n, is_base64, w, e)
                               : wrong_type(f, n, "a string", e);
        case FIELD_TYPE_TREE:
                return is_text || n->kind == NODE_MAP
                               ? write_manifest(arena, n, w, e)
                               : wrong_type(f, n, "an object or a string", e);
        case FIELD_TYPE_JSON:
                return write_json(n, f->tag, w, e);
        default:
                return wrong_type(f, n, "left out", e);
        }
}

static int
write_env(struct arena *arena, const struct api_field *f, const struct node *map,
          struct record_writer *w, struct error *e)
{
        if (map->kind != NODE_MAP)
                return wrong_type(f, map, "an object", e);
        node_each(n, map)
        {
                char *pair = n->kind == NODE_STRING ? arena_format(arena, "%s=%s", n->key, n->text)
                                                    : NULL;

                if (n->kind != NODE_STRING)
                        return wrong_type(f, n, "an object of strings", e);
                if (n->key[0] == '\0' || strchr(n->key, '='))
                        return fail_at(e, ERROR_INVALID_ARGUMENT, f->name, "name",
                                       "a name in env is empty or holds an equals sign");
                if (!pair)
                        return fail(e, ERROR_NO_MEMORY, "there is no memory left for this request");
                record_text(w, f->tag, pair);
        }
        return 0;
}

int
codec_param(struct arena *arena, const struct api_param *p, const struct node *n, int is_base64,
            struct record_writer *w, struct error *e)
{
        const struct api_field *f = api_field(p->tag);

        if (p->tag == FIELD_ENV)
                return write_env(arena, f, n, w, e);
        if ((p->flags & PARAM_REPEATED) == 0)
                return write_value(arena, p, n, is_base64, w, e);
        if (n->kind != NODE_LIST)
                return wrong_type(f, n, "an array", e);
        node_each(one, n) if (write_value(arena, p, one, is_base64, w, e) < 0) return -1;
        return 0;
}

/* -- whole calls ------------------------------------------------------------------------------- */

int
codec_body(struct arena *arena, const char *body, size_t len, const struct node **ret,
           struct error *e)
{
        static const struct node empty = { .kind = NODE_MAP, .line = 1, .column = 1 };

        *ret = &empty;
        if (len == 0)
                return 0;
        if (json_read(arena, body, len, &body_limits, ret, e) < 0) {
                if (e->code == ERROR_MANIFEST_SYNTAX) {
                        e->code = ERROR_INVALID_ARGUMENT;
                        error_hint(e, "Send one JSON object.");
                }
                return -1;
        }
        if ((*ret)->kind != NODE_MAP)
                return fail_at(e, ERROR_INVALID_ARGUMENT, "", "type",
                               "the body must be a JSON object");
        return 0;
}

int
codec_encoding(const struct node *map, int *ret_is_base64, struct error *e)
{
        static const char *const plain[] = { "utf-8", "utf8", "text" };
        const struct node *n = node_find(map, "encoding");
        size_t i = 0;

        *ret_is_base64 = n && node_is_text(n, "base64");
        if (!n || *ret_is_base64 || n->kind == NODE_NULL)
                return 0;
        while (i < sizeof plain / sizeof *plain && !node_is_text(n, plain[i]))
                i++;
        return i < sizeof plain / sizeof *plain
                       ? 0
                       : fail_at(e, ERROR_INVALID_ARGUMENT, "encoding", "value",
                                 "encoding is base64, or left out");
}

static int
read_members(struct arena *arena, const struct operation *o, const struct node *body,
             struct record_writer *w, struct error *e)
{
        int is_base64;

        if (codec_encoding(body, &is_base64, e) < 0)
                return -1;
        node_each(n, body)
        {
                const struct api_param *p = param_named(o, 0, n->key);

                if (strcmp(n->key, "encoding") == 0)
                        continue;
                if (!p)
                        return unknown(o, 0, n->key, n, e);
                if (n->kind != NODE_NULL && codec_param(arena, p, n, is_base64, w, e) < 0)
                        return -1;
        }
        return 0;
}

static int
read_path(const struct codec_call *call, struct record_writer *w, struct error *e)
{
        for (size_t i = 0; i < call->operation->param_count; i++) {
                const struct api_param *p = &call->operation->params[i];
                const char *word = (p->flags & PARAM_IN_PATH) != 0 && call->path
                                           ? path_word(call->path, api_field(p->tag)->name)
                                           : NULL;

                if (word && write_word(w, p, word, e) < 0)
                        return -1;
        }
        return 0;
}

int
codec_read(struct arena *arena, const struct codec_call *call, struct record_writer *w,
           const struct node **ret_body, struct error *e)
{
        const struct api_param *key = param_named(call->operation, 0, api_field(FIELD_KEY)->name);
        const struct node *body;
        struct record record;

        if (read_path(call, w, e) < 0 || read_query(arena, call, w, e) < 0 ||
            codec_body(arena, call->body, call->body_len, &body, e) < 0)
                return -1;
        if (ret_body)
                *ret_body = body;
        else if (read_members(arena, call->operation, body, w, e) < 0)
                return -1;
        record = (struct record){ w->bytes, w->len };
        if (call->key && key && !w->is_broken &&
            !record_find(&record, FIELD_KEY, &(struct record_entry){ 0 }))
                record_text(w, FIELD_KEY, call->key);
        if (call->last_event &&
            param_named(call->operation, PARAM_IN_HEADER, api_field(FIELD_LAST_EVENT)->name))
                record_text(w, FIELD_LAST_EVENT, call->last_event);
        if (w->is_broken)
                return fail(e, ERROR_REQUEST_TOO_LARGE, "the call holds more than %zu bytes",
                            w->room);
        record.len = w->len;
        return operation_check(call->operation, &record, 1, e);
}
