/*
 * ref/graft.c - puts what a file contains where a manifest or a host file refers to it.
 *
 * Room: ref (acting). Touches: mem.
 */
#include "ref/graft.h"

#include <stdio.h>
#include <string.h>

struct node *
ref_graft_copy(struct arena *arena, const struct node *n, const struct node *reference)
{
        struct node *copy = arena_new(arena, struct node);
        const struct node **end;

        if (!copy)
                return NULL;
        *copy = *n;
        copy->line = copy->key_line = reference->line;
        copy->column = copy->key_column = reference->column;
        copy->next = NULL;
        end = &copy->first;
        node_each(child, n)
        {
                struct node *same = ref_graft_copy(arena, child, reference);

                if (!same)
                        return NULL;
                *end = same;
                end = &same->next;
        }
        return copy;
}

int
ref_graft_member(struct arena *arena, const struct node **tree, const struct node *member,
                 struct node *value, struct error *e)
{
        struct node *root = arena_new(arena, struct node), *copy = NULL;
        const struct node **end;

        if (!root || !value)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
        *root = **tree;
        end = &root->first;
        node_each(child, *tree)
        {
                copy = arena_new(arena, struct node);
                if (!copy)
                        return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
                *copy = child == member ? *value : *child;
                copy->key = child->key;
                copy->next = NULL;
                *end = copy;
                end = &copy->next;
        }
        *tree = root;
        return 0;
}

int
ref_graft_fail(struct error *e, const struct node *reference, const char *path)
{
        struct error inner = *e;

        if (inner.line > 0) {
                (void)fail_at(e, inner.code, path, inner.reason, "%.200s, line %u: %s",
                              reference->text, inner.line, inner.message);
                if (inner.hint[0] != '\0')
                        error_hint(e, "%s", inner.hint);
        }
        (void)snprintf(e->path, sizeof e->path, "%s", path);
        e->line = reference->line;
        e->column = reference->column;
        return -1;
}
