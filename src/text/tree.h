/*
 * text/tree.h - the result of reading foreign bytes: a tree of values, each with its place in the
 * file.
 *
 * YAML and JSON give the same tree. Nodes live in the reader's arena and are never changed. Line
 * and column are 1-based and point to the first byte of the value. For a member, `key_line` and
 * `key_column` point to its key. So a later check can still name the place.
 */
#ifndef CARREL_TEXT_TREE_H
#define CARREL_TEXT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum node_kind { NODE_NULL, NODE_BOOL, NODE_INT, NODE_FLOAT, NODE_STRING, NODE_LIST, NODE_MAP };

struct node {
        enum node_kind kind;
        unsigned line, column;
        const char *text;         /* scalars: the source text, NUL-terminated, no NUL inside */
        size_t len;               /* bytes in text; for lists and maps the number of children */
        bool boolean;             /* NODE_BOOL */
        int64_t integer;          /* NODE_INT; a value that does not fit is a NODE_FLOAT */
        double real;              /* NODE_FLOAT and NODE_INT */
        const struct node *first; /* lists and maps: children in order */
        const struct node *next;  /* the next sibling */
        const char *key;          /* members of a map: the key, NUL-terminated; else NULL */
        unsigned key_line, key_column;
};

/* The member of a map with this key, or NULL (also when `map` is NULL or no map). */
const struct node *node_find(const struct node *map, const char *key);

/* The index-th child of a list or map, or NULL. */
const struct node *node_at(const struct node *parent, size_t index);

/* "null", "boolean", "integer", "number", "string", "list", "map". */
const char *node_kind_name(enum node_kind kind);

/* Is it a string equal to `text`? */
bool node_is_text(const struct node *n, const char *text);

#define node_each(child, parent) \
        for (const struct node *child = (parent)->first; child; child = child->next)

#endif
