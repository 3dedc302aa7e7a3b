/*
 * text/tree.c - navigates a tree of values.
 *
 * Room: text (words). Touches: nothing.
 */
#include "text/tree.h"

#include <string.h>

const struct node *
node_find(const struct node *map, const char *key)
{
        if (!map || map->kind != NODE_MAP)
                return NULL;
        node_each(child, map)
        {
                if (strcmp(child->key, key) == 0)
                        return child;
        }
        return NULL;
}

const struct node *
node_at(const struct node *parent, size_t index)
{
        if (!parent || (parent->kind != NODE_LIST && parent->kind != NODE_MAP))
                return NULL;
        node_each(child, parent)
        {
                if (index-- == 0)
                        return child;
        }
        return NULL;
}

const char *
node_kind_name(enum node_kind kind)
{
        static const char *const names[] = {
                [NODE_NULL] = "null",    [NODE_BOOL] = "boolean",  [NODE_INT] = "integer",
                [NODE_FLOAT] = "number", [NODE_STRING] = "string", [NODE_LIST] = "list",
                [NODE_MAP] = "map",
        };

        return names[kind];
}

bool
node_is_text(const struct node *n, const char *text)
{
        return n && n->kind == NODE_STRING && strcmp(n->text, text) == 0;
}
