/*
 * keeper/rewrite.c - another manifest for a sandbox that exists.
 *
 * Room: keeper (joining). Touches: the store.
 */
#include "keeper/rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "keeper/limits.h"
#include "spec/provider.h"
#include "text/tree_pack.h"

struct node *
rewrite_add(struct arena *a, struct node *to, const struct node *child, struct node *last)
{
        struct node *copy = arena_new(a, struct node);

        if (!copy)
                return NULL;
        *copy = *child;
        copy->next = NULL;
        if (last)
                last->next = copy;
        else
                to->first = copy;
        to->len++;
        return copy;
}

struct node *
rewrite_member(struct arena *a, const struct node *map, const char *name, struct node *instead)
{
        static const struct node nothing = { .kind = NODE_MAP };
        struct node *copy = arena_new(a, struct node), *last = NULL;

        if (!copy)
                return NULL;
        if (!map || map->kind != NODE_MAP)
                map = &nothing;
        *copy = *map;
        copy->first = NULL;
        copy->len = 0;
        node_each(child, map) if (strcmp(child->key, name) != 0 &&
                                  (last = rewrite_add(a, copy, child, last)) == NULL) return NULL;
        if (!instead)
                return copy;
        instead->key = name;
        return rewrite_add(a, copy, instead, last) ? copy : NULL;
}

/* The manifest of a sandbox that was created without one. */
static const struct node config = { .kind = NODE_MAP, .key = "config" };
static const struct node provider = { .kind = NODE_STRING,
                                      .key = "provider",
                                      .text = PROVIDER_AUTO,
                                      .len = sizeof PROVIDER_AUTO - 1,
                                      .next = &config };
static const struct node standard = { .kind = NODE_MAP, .first = &provider, .len = 2 };

int
rewrite_manifest(const struct sandbox *s, rewrite_block *change, const void *context,
                 struct store_bytes *ret, struct error *e)
{
        struct arena a;
        const struct node *root, *block;
        struct node *changed = NULL;
        int result = -1;

        arena_init(&a, LIMITS_TREE_MEMORY);
        root = &standard;
        if (s->row.manifest.len == 0 || tree_unpack(&a, s->row.manifest.bytes, s->row.manifest.len,
                                                    &limits_manifest, &root, e) == 0) {
                block = node_find(root, "sandbox");
                changed = change(&a, block ? block : root, context);
                if (changed && block)
                        changed = rewrite_member(&a, root, "sandbox", changed);
                (void)fail(e, ERROR_NO_MEMORY, "no memory for another manifest");
                if (changed) {
                        size_t len = tree_pack_len(changed);
                        void *bytes = malloc(len);

                        if (bytes) {
                                tree_pack(changed, bytes);
                                *ret = (struct store_bytes){ bytes, len };
                                result = 0;
                        }
                }
        }
        arena_fini(&a);
        return result;
}

static void
drop(struct prepared *p, struct arena *tree)
{
        if (!p)
                return;
        prepared_fini(p);
        free(p);
        arena_fini(tree);
}

int
rewrite_take(struct sandbox *s, const struct store_bytes *manifest, bool is_trial,
             rewrite_check *check, void *context, struct error *e)
{
        struct prepared *old = s->prepared;
        struct arena old_tree = s->tree_memory;
        struct store_bytes old_manifest = s->row.manifest;
        int result;

        s->prepared = NULL;
        s->row.manifest = *manifest;
        result = sandbox_judge(s, e);
        if (result == 0)
                result = check(s, old ? old->spec : NULL, context, e);
        if (result == 0 && !is_trial)
                result = sandbox_save(s, e);
        if (result < 0 || is_trial) {
                drop(s->prepared, &s->tree_memory);
                s->prepared = old;
                s->tree_memory = old_tree;
                s->row.manifest = old_manifest;
                return result;
        }
        free((void *)(uintptr_t)old_manifest.bytes);
        drop(old, &old_tree);
        return 0;
}
