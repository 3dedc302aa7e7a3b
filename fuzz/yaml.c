/*
 * fuzz/yaml.c - any bytes as YAML: a tree, or an error with its code and sentence, and nothing
 * else.
 *
 * Beyond not crashing: the tree keeps to the limits, places lie inside the input, and what is
 * refused says why.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/yaml.h"

enum { MEMORY_MAX = 32 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A broken promise ends the process, in every build type. */
static void
must(int holds)
{
        if (!holds)
                abort();
}

static unsigned
tree_check(const struct node *n, unsigned depth, size_t len)
{
        unsigned count = 1;

        must(depth <= text_limits_manifest.depth_max);
        must(n->line >= 1 && n->line <= len + 1 && n->column >= 1 && n->column <= len + 1);
        if (n->kind != NODE_LIST && n->kind != NODE_MAP) {
                must(strlen(n->text) == n->len);
                return count;
        }
        node_each(child, n)
        {
                must((child->key != NULL) == (n->kind == NODE_MAP));
                must(!child->key || node_find(n, child->key) == child);
                count += tree_check(child, depth + 1, len);
        }
        return count;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        const struct node *root = NULL;
        struct error e = { 0 };
        struct arena arena;

        arena_init(&arena, MEMORY_MAX);
        if (yaml_read(&arena, (const char *)data, len, 1, &text_limits_manifest, &root, &e) == 0)
                must(root != NULL && tree_check(root, 1, len) <= text_limits_manifest.nodes_max);
        else
                must(e.code != ERROR_NONE && e.message[0] != '\0' && root == NULL);
        arena_fini(&arena);
        return 0;
}
