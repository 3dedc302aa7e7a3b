/*
 * text/json.c - reads JSON into the same tree as YAML.
 *
 * Room: text (words). Touches: mem.
 * Theory: jansson checks the JSON and decodes the strings, but does not keep positions. So the
 * bytes, now known to be well-formed, are walked again together with its tree: a value's place is
 * the next byte that is not a blank, comma or colon. Numbers are read from their own digits, so
 * that no integer passes through a double.
 */
#include "text/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "text/builder.h"
#include "text/scalar.h"
#include "text/source.h"

struct reader {
        struct source source;
        struct builder builder;
        size_t at; /* position of the walk in source.bytes */
};

/* -- before jansson ---------------------------------------------------------------------------- */

/*
 * jansson recurses for each bracket and uses 400 bytes for `{},`. So depth and count are checked
 * before it is called. A text has more values than commas outside its strings, whatever else it
 * contains.
 */
static int
check_shape(struct source *s, const struct text_limits *limits, struct error *e)
{
        bool is_string = false;
        unsigned depth = 0, commas = 0;

        for (size_t at = 0; at < s->len; at++) {
                char byte = s->bytes[at];

                if (is_string && byte == '\\')
                        at++;
                else if (byte == '"')
                        is_string = !is_string;
                else if (is_string)
                        continue;
                else if ((byte == '[' || byte == '{') && depth++ >= limits->depth_max)
                        return syntax_error(e, source_place(s, at), "too_large",
                                            "lists and maps are nested more than %u deep",
                                            limits->depth_max);
                else if (byte == ',' && ++commas >= limits->nodes_max)
                        return syntax_error(e, source_place(s, at), "too_large",
                                            "more than %u values", limits->nodes_max);
                else if ((byte == ']' || byte == '}') && depth > 0)
                        depth--;
        }
        return 0;
}

static bool
is_blank(char byte)
{
        return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static int
check_bytes(struct source *s, const struct text_limits *limits, struct error *e)
{
        size_t first = 0;

        if (s->len > limits->bytes_max)
                return syntax_error(e, source_place(s, 0), "too_large",
                                    "%zu bytes; at most %zu are accepted", s->len,
                                    limits->bytes_max);
        while (first < s->len && is_blank(s->bytes[first]))
                first++;
        if (first == s->len)
                return syntax_error(e, source_place(s, 0), "empty",
                                    "there is nothing in this document");
        if (source_check_utf8(s, "json", e) < 0)
                return -1;
        return check_shape(s, limits, e);
}

/* -- jansson's errors -------------------------------------------------------------------------- */

static bool
is_word_byte(char byte)
{
        return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
               (byte >= '0' && byte <= '9');
}

/* jansson stops after the token it rejected: go back to the first byte of the string or word. */
static struct place
token_place(struct source *s, int position)
{
        size_t at = position > 0 ? (size_t)position - 1 : 0;

        while (at > 0 && at < s->len && is_word_byte(s->bytes[at]) &&
               is_word_byte(s->bytes[at - 1]))
                at--;
        if (at > 0 && at < s->len && s->bytes[at] == '"') {
                do
                        at--;
                while (at > 0 && (s->bytes[at] != '"' || s->bytes[at - 1] == '\\'));
        }
        return source_place(s, at);
}

/*
 * jansson does not check whether it could store a byte of a string: without memory it would read
 * `./x` as `/x`. So one failed allocation fails the whole text, even if another thread caused it.
 * The allocator is restored each time, because a program that links this code may have set its own.
 */
static _Atomic unsigned failures;

static void *
allocate(size_t len)
{
        void *memory = malloc(len);

        failures += memory == NULL;
        return memory;
}

static int
parser_error(struct source *s, const json_error_t *found, struct error *e)
{
        struct place at = token_place(s, found->position);
        const char *near = strstr(found->text, " near '"); /* the rest quotes the input */
        int len = near ? (int)(near - found->text) : (int)strlen(found->text);

        switch (json_error_code(found)) {
        case json_error_duplicate_key:
                return syntax_error(e, at, "duplicate_key",
                                    "a key of this map stands here a second time");
        case json_error_null_character:
        case json_error_null_byte_in_key:
                return syntax_error(e, at, "json",
                                    "a text here holds the character U+0000; bytes are sent as "
                                    "base64, where that is possible");
        case json_error_stack_overflow:
                return syntax_error(e, at, "too_large", "lists and maps are nested too deep");
        default:
                return syntax_error(e, at, "json", "this is not JSON: %.*s", len, found->text);
        }
}

/* -- together with jansson's tree -------------------------------------------------------------- */

static struct place
next_token(struct reader *r)
{
        const struct source *s = &r->source;

        while (r->at < s->len &&
               (is_blank(s->bytes[r->at]) || s->bytes[r->at] == ',' || s->bytes[r->at] == ':'))
                r->at++;
        return source_place(&r->source, r->at);
}

/* Skips the string that begins here. Returns its length without the quotes. */
static size_t
skip_string(struct reader *r)
{
        const struct source *s = &r->source;
        size_t start = ++r->at;

        while (r->at < s->len && s->bytes[r->at] != '"')
                r->at += s->bytes[r->at] == '\\' ? 2 : 1;
        return r->at++ - start;
}

/* Skips the number or word that begins here. Returns its length. */
static size_t
skip_word(struct reader *r)
{
        const struct source *s = &r->source;
        size_t start = r->at;

        while (r->at < s->len && !is_blank(s->bytes[r->at]) && !strchr(",:]}", s->bytes[r->at]))
                r->at++;
        return r->at - start;
}

static int
read_word(struct reader *r, const json_t *value, struct place at, struct error *e)
{
        const char *word = r->source.bytes + r->at;
        size_t len = skip_word(r);
        struct node *n;

        if (builder_scalar(&r->builder, word, len, at, &n, e) < 0)
                return -1;
        if (json_is_number(value))
                scalar_read_number(n);
        else
                n->kind = json_is_null(value) ? NODE_NULL : NODE_BOOL;
        n->boolean = json_is_true(value);
        return 0;
}

static int
read_string(struct reader *r, const json_t *value, struct place at, struct error *e)
{
        struct node *n;

        (void)skip_string(r);
        return builder_scalar(&r->builder, json_string_value(value), json_string_length(value), at,
                              &n, e);
}

/* The bytes and jansson's tree must have the same key; otherwise the walk is out of step. */
static int
read_key(struct reader *r, const char *key, struct error *e)
{
        struct place at = next_token(r);
        const char *raw = r->source.bytes + r->at + 1;
        size_t len = skip_string(r);

        if (!memchr(raw, '\\', len) && (strlen(key) != len || memcmp(raw, key, len) != 0))
                return fail(e, ERROR_INTERNAL,
                            "the JSON library gave the members of a map in another order");
        return builder_key(&r->builder, key, strlen(key), at, e);
}

static int read_value(struct reader *r, json_t *value, struct error *e);

static int
read_members(struct reader *r, json_t *value, struct error *e)
{
        const char *key;
        json_t *child;

        json_object_foreach(value, key, child)
        {
                if (read_key(r, key, e) < 0 || read_value(r, child, e) < 0)
                        return -1;
        }
        return 0;
}

static int
read_items(struct reader *r, json_t *value, struct error *e)
{
        for (size_t i = 0; i < json_array_size(value); i++) {
                if (read_value(r, json_array_get(value, i), e) < 0)
                        return -1;
        }
        return 0;
}

/* Recursive, once for each level, at most depth_max levels. */
static int
read_value(struct reader *r, json_t *value, struct error *e)
{
        struct place at = next_token(r);
        bool is_map = json_is_object(value);

        if (json_is_string(value))
                return read_string(r, value, at, e);
        if (!is_map && !json_is_array(value))
                return read_word(r, value, at, e);
        if (builder_open(&r->builder, is_map ? NODE_MAP : NODE_LIST, at, e) < 0)
                return -1;
        r->at++;
        if ((is_map ? read_members(r, value, e) : read_items(r, value, e)) < 0)
                return -1;
        (void)next_token(r);
        r->at++;
        return builder_close(&r->builder, e);
}

static int
read_text(struct arena *arena, const char *bytes, size_t len, const struct text_limits *limits,
          const struct node **ret_root, struct error *e)
{
        struct reader r = { 0 };
        json_error_t found;
        unsigned before = failures;
        json_t *value;
        int result;

        source_init(&r.source, bytes, len, 1);
        if (check_bytes(&r.source, limits, e) < 0 || builder_init(&r.builder, arena, limits, e) < 0)
                return -1;
        /* Integers as reals: one beyond int64_t is then no error, and its digits are read here. */
        value = json_loadb(bytes, len,
                           JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL,
                           &found);
        if (failures != before) {
                json_decref(value);
                return fail(e, ERROR_NO_MEMORY, "there is no memory left for this text");
        }
        if (!value)
                return parser_error(&r.source, &found, e);
        result = read_value(&r, value, e);
        json_decref(value);
        if (result == 0)
                *ret_root = r.builder.root;
        return result;
}

int
json_read(struct arena *arena, const char *bytes, size_t len, const struct text_limits *limits,
          const struct node **ret_root, struct error *e)
{
        json_malloc_t old_malloc;
        json_free_t old_free;
        int result;

        json_get_alloc_funcs(&old_malloc, &old_free);
        json_set_alloc_funcs(allocate, free);
        result = read_text(arena, bytes, len, limits, ret_root, e);
        json_set_alloc_funcs(old_malloc, old_free);
        return result;
}
