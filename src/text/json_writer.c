/*
 * text/json_writer.c - writes a JSON text from beginning to end.
 *
 * Room: text (words). Touches: mem.
 * Theory: before() writes the separator between a value and the one before it; json_escape.c
 * escapes. A text that could not grow stays broken, so callers check once, at the end.
 */
#include "text/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

enum { FIRST_ROOM = 256 };

void
json_init(struct json_writer *w, bool is_pretty)
{
        *w = (struct json_writer){ .is_pretty = is_pretty };
}

void
json_fini(struct json_writer *w)
{
        if (!w)
                return;
        free(w->text);
        *w = (struct json_writer){ .is_broken = true };
}

void
json_forget(struct json_writer *w)
{
        w->len = 0;
}

void
json_again(struct json_writer *w)
{
        *w = (struct json_writer){ .text = w->text, .room = w->room, .is_pretty = w->is_pretty };
}

static bool
grow(struct json_writer *w, size_t len)
{
        if (w->is_broken || len >= SIZE_MAX / 4 - w->len ||
            buffer_reserve(&w->text, &w->room, w->len + len + (w->room ? 1 : FIRST_ROOM)) < 0)
                w->is_broken = true;
        return !w->is_broken;
}

static void
put(struct json_writer *w, const char *bytes, size_t len)
{
        if (!grow(w, len))
                return;
        memcpy(w->text + w->len, bytes, len);
        w->len += len;
        w->text[w->len] = '\0';
}

static void
put_text(struct json_writer *w, const char *text)
{
        put(w, text, strlen(text));
}

static void put_format(struct json_writer *w, const char *fmt, ...)
        __attribute__((format(printf, 2, 3)));

/* For numbers only: at most 63 bytes. */
static void
put_format(struct json_writer *w, const char *fmt, ...)
{
        char text[64];
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        put_text(w, text);
}

static void
new_line(struct json_writer *w)
{
        put_text(w, "\n");
        for (unsigned i = 0; i < w->depth; i++)
                put_text(w, "  ");
}

/* The separator between the last thing written and a value or key that begins now. */
static void
before(struct json_writer *w)
{
        bool is_after_key = w->is_after_key;

        w->is_after_key = false;
        if (is_after_key)
                return;
        if (w->needs_comma)
                put_text(w, ",");
        if (w->is_pretty && w->depth > 0)
                new_line(w);
}

static void
open_bracket(struct json_writer *w, const char *bracket)
{
        before(w);
        put_text(w, bracket);
        w->depth++;
        w->needs_comma = false;
}

static void
close_bracket(struct json_writer *w, const char *bracket)
{
        w->depth--;
        if (w->is_pretty && w->needs_comma)
                new_line(w);
        put_text(w, bracket);
        w->needs_comma = true;
}

void
json_open_map(struct json_writer *w)
{
        open_bracket(w, "{");
}

void
json_close_map(struct json_writer *w)
{
        close_bracket(w, "}");
}

void
json_open_list(struct json_writer *w)
{
        open_bracket(w, "[");
}

void
json_close_list(struct json_writer *w)
{
        close_bracket(w, "]");
}

void
json_raw(struct json_writer *w, const char *json, size_t len)
{
        before(w);
        if (len > 0)
                put(w, json, len);
        w->needs_comma = true;
}

/* -- strings ----------------------------------------------------------------------------------- */

static void
put_string(struct json_writer *w, const char *bytes, size_t len)
{
        size_t at = 0, taken;

        put_text(w, "\"");
        while (at < len && grow(w, len - at + JSON_ESCAPE_MAX)) {
                w->len += json_escape(bytes + at, len - at, w->text + w->len, w->room - w->len - 1,
                                      &taken);
                at += taken;
        }
        put_text(w, "\"");
}

void
json_key(struct json_writer *w, const char *key)
{
        before(w);
        put_string(w, key, strlen(key));
        put_text(w, w->is_pretty ? ": " : ":");
        w->is_after_key = true;
        w->needs_comma = false;
}

void
json_bytes(struct json_writer *w, const char *bytes, size_t len)
{
        before(w);
        put_string(w, bytes, len);
        w->needs_comma = true;
}

void
json_text(struct json_writer *w, const char *text)
{
        if (text)
                json_bytes(w, text, strlen(text));
        else
                json_none(w);
}

/* -- other scalars ----------------------------------------------------------------------------- */

static void
put_word(struct json_writer *w, const char *word)
{
        before(w);
        put_text(w, word);
        w->needs_comma = true;
}

void
json_int(struct json_writer *w, int64_t value)
{
        before(w);
        put_format(w, "%" PRId64, value);
        w->needs_comma = true;
}

void
json_uint(struct json_writer *w, uint64_t value)
{
        before(w);
        put_format(w, "%" PRIu64, value);
        w->needs_comma = true;
}

/*
 * The fewest digits that read back as the same value, and as a real number. 17 digits always do;
 * Carrel never calls setlocale().
 */
void
json_double(struct json_writer *w, double value)
{
        char text[40];

        if (!isfinite(value)) {
                json_none(w);
                return;
        }
        for (int digits = 15; digits <= 17; digits++) {
                (void)snprintf(text, sizeof text, "%.*g", digits, value);
                if (strtod(text, NULL) == value)
                        break;
        }
        put_word(w, text);
        if (!strpbrk(text, ".e"))
                put_text(w, ".0");
}

void
json_bool(struct json_writer *w, bool value)
{
        put_word(w, value ? "true" : "false");
}

void
json_none(struct json_writer *w)
{
        put_word(w, "null");
}

/* -- trees and members ------------------------------------------------------------------------- */

static void
put_children(struct json_writer *w, const struct node *n)
{
        node_each(child, n)
        {
                if (child->key)
                        json_key(w, child->key);
                json_node(w, child);
        }
}

/* Recursive, once for each level; the readers' depth_max bounds them. */
void
json_node(struct json_writer *w, const struct node *n)
{
        switch (n->kind) {
        case NODE_NULL:
                json_none(w);
                return;
        case NODE_BOOL:
                json_bool(w, n->boolean);
                return;
        case NODE_INT:
                json_int(w, n->integer);
                return;
        case NODE_FLOAT:
                json_double(w, n->real);
                return;
        case NODE_STRING:
                json_bytes(w, n->text, n->len);
                return;
        case NODE_LIST:
                json_open_list(w);
                put_children(w, n);
                json_close_list(w);
                return;
        case NODE_MAP:
                json_open_map(w);
                put_children(w, n);
                json_close_map(w);
                return;
        }
}

void
json_member_text(struct json_writer *w, const char *key, const char *text)
{
        json_key(w, key);
        json_text(w, text);
}

void
json_member_int(struct json_writer *w, const char *key, int64_t value)
{
        json_key(w, key);
        json_int(w, value);
}

void
json_member_bool(struct json_writer *w, const char *key, bool value)
{
        json_key(w, key);
        json_bool(w, value);
}
