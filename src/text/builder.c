/*
 * text/builder.c - builds a tree, one value after another, within limits.
 *
 * Room: text (words). Touches: mem.
 * Theory: open lists and maps are on a stack of depth_max frames, so no input can cause recursion.
 * Equal keys are found when a map closes, by sorting its members: n log n for any keys, without a
 * hash table that an attacker could flood.
 */
#include "text/builder.h"

#include <stdlib.h>
#include <string.h>

struct builder_frame {
        struct node *node; /* the list or map */
        struct node *last; /* its newest child */
        const char *key;   /* of the next value; NULL while a key is expected */
        struct place key_at;
};

static int
no_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "there is no memory left for this text");
}

int
builder_init(struct builder *b, struct arena *arena, const struct text_limits *limits,
             struct error *e)
{
        *b = (struct builder){ .arena = arena, .limits = limits };
        b->frames = arena_array(arena, struct builder_frame, limits->depth_max);
        return b->frames ? 0 : no_memory(e);
}

static struct builder_frame *
top(const struct builder *b)
{
        return b->depth > 0 ? &b->frames[b->depth - 1] : NULL;
}

bool
builder_wants_key(const struct builder *b)
{
        const struct builder_frame *frame = top(b);

        return frame && frame->node->kind == NODE_MAP && !frame->key;
}

int
builder_key(struct builder *b, const char *bytes, size_t len, struct place at, struct error *e)
{
        struct builder_frame *frame = top(b);

        /* lint: asked for only where builder_wants_key() said so, and then there is a frame */
        frame->key = arena_copy(b->arena, bytes, len);
        frame->key_at = at;
        return frame->key ? 0 : no_memory(e);
}

static struct node *
append(struct builder *b, enum node_kind kind, struct place at, struct error *e)
{
        struct builder_frame *frame = top(b);
        struct node *n;

        if (b->nodes >= b->limits->nodes_max) {
                (void)syntax_error(e, at, "too_large", "more than %u values", b->limits->nodes_max);
                return NULL;
        }
        n = arena_new(b->arena, struct node);
        if (!n) {
                (void)no_memory(e);
                return NULL;
        }
        b->nodes++;
        n->kind = kind;
        n->line = at.line;
        n->column = at.column;
        if (!frame) {
                b->root = n;
                return n;
        }
        n->key = frame->key;
        n->key_line = frame->key_at.line;
        n->key_column = frame->key_at.column;
        if (frame->last)
                frame->last->next = n;
        else
                frame->node->first = n;
        frame->last = n;
        frame->node->len++;
        frame->key = NULL;
        frame->key_at = (struct place){ 0 };
        return n;
}

int
builder_scalar(struct builder *b, const char *bytes, size_t len, struct place at, struct node **ret,
               struct error *e)
{
        struct node *n = append(b, NODE_STRING, at, e);

        if (!n)
                return -1;
        n->text = arena_copy(b->arena, bytes, len);
        n->len = len;
        if (!n->text)
                return no_memory(e);
        *ret = n;
        return 0;
}

int
builder_open(struct builder *b, enum node_kind kind, struct place at, struct error *e)
{
        struct node *n;

        if (b->depth >= b->limits->depth_max)
                return syntax_error(e, at, "too_large",
                                    "lists and maps are nested more than %u deep",
                                    b->limits->depth_max);
        n = append(b, kind, at, e);
        if (!n)
                return -1;
        b->frames[b->depth++] = (struct builder_frame){ .node = n };
        return 0;
}

static int
key_compare(const void *left, const void *right)
{
        const struct node *a = *(const struct node *const *)left,
                          *b = *(const struct node *const *)right;
        int order = strcmp(a->key, b->key);

        if (order != 0)
                return order;
        if (a->key_line != b->key_line)
                return a->key_line < b->key_line ? -1 : 1;
        return a->key_column < b->key_column ? -1 : a->key_column > b->key_column;
}

static int
duplicates_check(struct builder *b, const struct node *map, struct error *e)
{
        const struct node **members;
        size_t count = 0;

        if (map->len < 2)
                return 0;
        members = arena_array(b->arena, const struct node *, map->len);
        if (!members)
                return no_memory(e);
        node_each(child, map) members[count++] = child;
        qsort(members, count, sizeof members[0], key_compare);
        for (size_t i = 1; i < count; i++) {
                const struct node *first = members[i - 1], *second = members[i];
                struct place at = { second->key_line, second->key_column };

                if (strcmp(first->key, second->key) != 0)
                        continue;
                (void)syntax_error(e, at, "duplicate_key",
                                   "the key \"%.64s\" is written twice: here and on line %u",
                                   second->key, first->key_line);
                error_hint(e, "Remove one of the two, or join what is below them.");
                return -1;
        }
        return 0;
}

int
builder_close(struct builder *b, struct error *e)
{
        const struct node *closed = b->frames[--b->depth].node;

        return closed->kind == NODE_MAP ? duplicates_check(b, closed, e) : 0;
}
