/*
 * text/tree_pack.c - packs a tree of values into flat bytes and back.
 *
 * Room: text (words). Touches: mem.
 * Theory: nodes in depth-first order, each a fixed head, then its key and its text with a NUL each;
 * children follow their parent.
 */
#include "text/tree_pack.h"

#include <stdint.h>
#include <string.h>

struct packed {
        uint32_t kind, line, column, key_line, key_column, has_key;
        uint32_t key_len, len; /* len: of the text, or the number of children */
        int64_t integer;
        double real;
        uint32_t boolean, pad;
};

static bool
has_children(enum node_kind kind)
{
        return kind == NODE_LIST || kind == NODE_MAP;
}

static size_t
text_len(const struct node *n)
{
        return has_children(n->kind) || !n->text ? 0 : n->len;
}

static size_t
node_len(const struct node *n, const char *key)
{
        size_t len = sizeof(struct packed) + (key ? strlen(key) : 0) + 1 + text_len(n) + 1;

        if (has_children(n->kind))
                node_each(child, n) len += node_len(child, child->key);
        return len;
}

size_t
tree_pack_len(const struct node *root)
{
        return node_len(root, NULL);
}

static unsigned char *
write_node(const struct node *n, const char *key, unsigned char *at)
{
        struct packed p = { .kind = (uint32_t)n->kind,
                            .line = n->line,
                            .column = n->column,
                            .key_line = n->key_line,
                            .key_column = n->key_column,
                            .has_key = key != NULL,
                            .key_len = key ? (uint32_t)strlen(key) : 0,
                            .len = has_children(n->kind) ? (uint32_t)n->len : (uint32_t)text_len(n),
                            .integer = n->integer,
                            .real = n->real,
                            .boolean = n->boolean };

        memcpy(at, &p, sizeof p);
        at += sizeof p;
        memcpy(at, key ? key : "", p.key_len + 1);
        at += p.key_len + 1;
        if (text_len(n) > 0)
                memcpy(at, n->text, text_len(n));
        at[text_len(n)] = '\0';
        at += text_len(n) + 1;
        if (has_children(n->kind))
                node_each(child, n) at = write_node(child, child->key, at);
        return at;
}

void
tree_pack(const struct node *root, void *out)
{
        (void)write_node(root, NULL, out);
}

struct reader {
        struct arena *arena;
        const unsigned char *bytes;
        size_t len, at;
        unsigned nodes;
        const struct text_limits *limits;
};

static int
malformed(struct error *e)
{
        (void)fail(e, ERROR_PROTOCOL, "a packed tree is malformed or too large");
        return -1;
}

static int
out_of_memory(struct error *e)
{
        (void)fail(e, ERROR_NO_MEMORY, "no memory for a tree");
        return -1;
}

/* Reads one text of this length, with its NUL and none inside. */
static int
read_text(struct reader *r, size_t len, const char **ret, struct error *e)
{
        if (len >= r->len - r->at || r->bytes[r->at + len] != '\0' ||
            memchr(r->bytes + r->at, '\0', len) != NULL)
                return malformed(e);
        *ret = arena_copy(r->arena, (const char *)r->bytes + r->at, len);
        r->at += len + 1;
        return *ret ? 0 : out_of_memory(e);
}

static int read_node(struct reader *r, unsigned depth, bool wants_key, const struct node **ret,
                     struct error *e);

static int
read_children(struct reader *r, struct node *parent, uint32_t count, unsigned depth,
              struct error *e)
{
        const struct node **link = &parent->first;

        for (uint32_t i = 0; i < count; i++) {
                if (read_node(r, depth + 1, parent->kind == NODE_MAP, link, e) < 0)
                        return -1;
                link = (const struct node **)(uintptr_t) & (*link)->next;
        }
        return 0;
}

static int
read_head(struct reader *r, unsigned depth, bool wants_key, struct packed *ret, struct error *e)
{
        if (r->len - r->at < sizeof *ret || depth > r->limits->depth_max ||
            ++r->nodes > r->limits->nodes_max)
                return malformed(e);
        memcpy(ret, r->bytes + r->at, sizeof *ret);
        r->at += sizeof *ret;
        if (ret->kind > NODE_MAP || ret->has_key != (wants_key ? 1u : 0u))
                return malformed(e);
        return 0;
}

static int
read_node(struct reader *r, unsigned depth, bool wants_key, const struct node **ret,
          struct error *e)
{
        struct node *n = arena_new(r->arena, struct node);
        const char *key, *text;
        struct packed p;

        if (!n)
                return out_of_memory(e);
        if (read_head(r, depth, wants_key, &p, e) < 0 || read_text(r, p.key_len, &key, e) < 0)
                return -1;
        *n = (struct node){ .kind = (enum node_kind)p.kind,
                            .line = p.line,
                            .column = p.column,
                            .key = p.has_key ? key : NULL,
                            .key_line = p.key_line,
                            .key_column = p.key_column,
                            .len = p.len,
                            .integer = p.integer,
                            .real = p.real,
                            .boolean = p.boolean != 0 };
        if (read_text(r, has_children(n->kind) ? 0 : p.len, &text, e) < 0)
                return -1;
        if (!has_children(n->kind))
                n->text = text;
        else if (read_children(r, n, p.len, depth, e) < 0)
                return -1;
        *ret = n;
        return 0;
}

int
tree_unpack(struct arena *arena, const void *bytes, size_t len, const struct text_limits *limits,
            const struct node **ret, struct error *e)
{
        struct reader r = { .arena = arena, .bytes = bytes, .len = len, .limits = limits };
        const struct node *root;

        if (read_node(&r, 0, false, &root, e) < 0)
                return -1;
        if (r.at != len)
                return malformed(e);
        *ret = root;
        return 0;
}
