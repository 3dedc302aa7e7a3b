/*
 * text/jcs.c - the canonical form of a JSON value.
 *
 * Room: text (words). Touches: mem.
 * Theory: members are sorted by the UTF-16 code units of their keys, strings have the shortest
 * escapes, and there is no white space. The input is a tree that the reader has checked: valid
 * UTF-8, no duplicate keys, no NUL.
 */
#include "text/jcs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writer {
        struct buffer *out;
        size_t max;
        int failed; /* of buffer_add(), the first one */
};

static void
put(struct writer *w, const char *bytes, size_t len)
{
        if (w->failed == 0)
                w->failed = buffer_add(w->out, bytes, len, w->max);
}

static void
put_string(struct writer *w, const char *text, size_t len)
{
        static const char shorts[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
        size_t start = 0;

        put(w, "\"", 1);
        for (size_t i = 0; i < len; i++) {
                unsigned char c = (unsigned char)text[i];
                const char *found;
                char escape[8];

                if (c >= 0x20 && c != '"' && c != '\\')
                        continue;
                found = c != '\0' ? strchr(shorts, c) : NULL;
                put(w, text + start, i - start);
                start = i + 1;
                if (found)
                        (void)snprintf(escape, sizeof escape, "\\%c", letters[found - shorts]);
                else
                        (void)snprintf(escape, sizeof escape, "\\u%04x", c);
                put(w, escape, strlen(escape));
        }
        put(w, text + start, len - start);
        put(w, "\"", 1);
}

/*
 * In UTF-8 a character beyond U+FFFF (first byte 0xF0 and up) sorts behind U+E000 to U+FFFF (0xEE,
 * 0xEF); in UTF-16 its surrogates sort before them.
 */
static unsigned
unit_order(unsigned char c)
{
        return c >= 0xf0 ? c - 2u : c >= 0xee ? c + 0x20u : c;
}

static int
compare_keys(const void *a, const void *b)
{
        const unsigned char *x = (const unsigned char *)(*(const struct node *const *)a)->key;
        const unsigned char *y = (const unsigned char *)(*(const struct node *const *)b)->key;

        while (*x != '\0' && *x == *y)
                x++, y++;
        return (unit_order(*x) > unit_order(*y)) - (unit_order(*x) < unit_order(*y));
}

static int put_value(struct writer *w, const struct node *n, const struct jcs_without *without,
                     size_t count, size_t depth, const char **trail, struct error *e);

enum { TRAIL_MAX = 4 /* keys of a path in `without` */, MEMBERS_FEW = 24 };

/* Is the member at the end of the trail one of those that are left out? */
static bool
is_without(const struct jcs_without *without, size_t count, const char *const *trail, size_t depth)
{
        for (size_t i = 0; i < count; i++) {
                size_t same = 0;

                while (same < depth && same < without[i].len &&
                       strcmp(trail[same], without[i].path[same]) == 0)
                        same++;
                if (same == depth && depth == without[i].len)
                        return true;
        }
        return false;
}

static int
put_map(struct writer *w, const struct node *n, const struct jcs_without *without, size_t count,
        size_t depth, const char **trail, struct error *e)
{
        const struct node *few[MEMBERS_FEW];
        const struct node **sorted = n->len <= MEMBERS_FEW ? few : calloc(n->len, sizeof *sorted);
        bool is_first = true;
        size_t members = 0;
        int result = 0;

        if (!sorted)
                return fail(e, ERROR_NO_MEMORY, "no memory for %zu members", n->len);
        node_each(child, n) sorted[members++] = child;
        qsort(sorted, members, sizeof *sorted, compare_keys);
        put(w, "{", 1);
        for (size_t i = 0; i < members && result == 0; i++) {
                if (depth < TRAIL_MAX) {
                        trail[depth] = sorted[i]->key;
                        if (is_without(without, count, trail, depth + 1))
                                continue;
                }
                put(w, ",", is_first ? 0 : 1);
                is_first = false;
                put_string(w, sorted[i]->key, strlen(sorted[i]->key));
                put(w, ":", 1);
                result = put_value(w, sorted[i], without, depth < TRAIL_MAX ? count : 0, depth + 1,
                                   trail, e);
        }
        put(w, "}", 1);
        if (sorted != few)
                free(sorted);
        return result;
}

static int
put_list(struct writer *w, const struct node *n, const char **trail, struct error *e)
{
        put(w, "[", 1);
        node_each(child, n)
        {
                put(w, ",", child == n->first ? 0 : 1);
                if (put_value(w, child, NULL, 0, TRAIL_MAX, trail, e) < 0)
                        return -1;
        }
        put(w, "]", 1);
        return 0;
}

static int
put_value(struct writer *w, const struct node *n, const struct jcs_without *without, size_t count,
          size_t depth, const char **trail, struct error *e)
{
        char number[24];

        switch (n->kind) {
        case NODE_NULL:
                put(w, "null", 4);
                return 0;
        case NODE_BOOL:
                put(w, n->boolean ? "true" : "false", n->boolean ? 4 : 5);
                return 0;
        case NODE_INT:
                if (n->integer > JCS_INTEGER_MAX || n->integer < -JCS_INTEGER_MAX)
                        break;
                (void)snprintf(number, sizeof number, "%" PRId64, n->integer);
                put(w, number, strlen(number));
                return 0;
        case NODE_STRING:
                put_string(w, n->text, n->len);
                return 0;
        case NODE_LIST:
                return put_list(w, n, trail, e);
        case NODE_MAP:
                return put_map(w, n, without, count, depth, trail, e);
        case NODE_FLOAT:
                break;
        }
        return fail_at(e, ERROR_INVALID_ARGUMENT, NULL, "number",
                       "a number that is not an integer up to 2^53");
}

int
jcs_write(const struct node *n, const struct jcs_without *without, size_t count, size_t max,
          struct buffer *out, struct error *e)
{
        struct writer w = { out, max, 0 };
        const char *trail[TRAIL_MAX] = { NULL };

        if (put_value(&w, n, without, count, 0, trail, e) < 0)
                return -1;
        if (w.failed == -ENOMEM)
                return fail(e, ERROR_NO_MEMORY, "no memory for the canonical form");
        if (w.failed != 0)
                return fail(e, ERROR_REQUEST_TOO_LARGE, "the canonical form exceeds %zu bytes",
                            max);
        return 0;
}
