/*
 * policy/host_rules.c - what this host permits, as data.
 *
 * Room: policy (deciding, pure). Touches: mem.
 * Knows the defaults and answers questions about the rules. Knows nothing of how they are written:
 * that is host_file.c.
 */
#include "policy/host_rules.h"

#include <string.h>

#include "base/below.h"
#include "spec/provider.h"
#include "spec/section.h"

static const char *const tool_roots[] = { "/opt", "/usr/local", "/nix/store" };

const struct spec_names host_tool_roots = { tool_roots, sizeof tool_roots / sizeof tool_roots[0] };

struct host_rules *
host_rules_new(struct arena *arena, const char *principal)
{
        struct host_rules *rules = arena_new(arena, struct host_rules);

        if (!rules)
                return NULL;
        rules->has_workspace = true;
        fields_default(&egress_caps_set, &rules->egress_caps);
        rules->limits = host_limits_none();
        rules->usage = (struct grant_usage){ GRANT_USAGE_UNKNOWN, GRANT_USAGE_UNKNOWN,
                                             GRANT_USAGE_UNKNOWN };
        rules->principal = arena_text(arena, principal);
        return rules->principal ? rules : NULL;
}

int
host_rules_default(struct arena *arena, const struct host_ability *machine, const char *principal,
                   struct host_rules **ret, struct error *e)
{
        struct host_rules *rules = host_rules_new(arena, principal);

        if (!rules)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
        for (size_t i = 0; i < provider_count; i++) {
                struct host_ability can = host_ability_of(&providers[i], machine);

                /* one with an interpreter of its own only runs where the host file has it */
                if (providers[i].runs_once && !providers[i].interpreter &&
                    host_provider_describe(&rules->providers, arena, providers[i].id, &can, e) < 0)
                        return -1;
        }
        rules->tool_roots = host_tool_roots;
        *ret = rules;
        return 0;
}

static void
bound(struct host_rules *rules, const char *id, const struct host_ability *real)
{
        for (size_t i = 0; i < rules->providers.count; i++)
                if (strcmp(rules->providers.items[i].id, id) == 0)
                        host_ability_bound(&rules->providers.items[i].can, real);
}

/* -- inventories ------------------------------------------------------------------------------- */

const struct host_inventory *
host_rules_inventory(const struct host_rules *rules, const char *ref)
{
        for (size_t i = 0; i < rules->inventory_count; i++)
                if (strcmp(rules->inventories[i].ref, ref) == 0)
                        return &rules->inventories[i];
        return NULL;
}

int
host_rules_add_inventory(struct arena *arena, struct host_rules *rules,
                         const struct host_inventory *inventory, struct error *e)
{
        const struct host_inventory *said = host_rules_inventory(rules, inventory->ref);
        struct host_inventory *items =
                arena_array(arena, struct host_inventory, rules->inventory_count + 1);
        size_t count = 0;

        if (!items)
                return fail(e, ERROR_NO_MEMORY, "no memory for the host's rules");
        for (size_t i = 0; i < rules->inventory_count; i++)
                if (&rules->inventories[i] != said)
                        items[count++] = rules->inventories[i];
        items[count] = *inventory;
        if (said) {
                items[count].may_reveal = said->may_reveal && inventory->may_reveal;
                items[count].deny_bind = said->deny_bind;
                if (said->binding_count > 0) {
                        items[count].bindings = said->bindings;
                        items[count].binding_count = said->binding_count;
                }
                if (said->restricted.count > 0) {
                        items[count].restricted = said->restricted;
                        items[count].grants = said->grants;
                        items[count].grant_count = said->grant_count;
                }
        }
        rules->inventories = items;
        rules->inventory_count = count + 1;
        return 0;
}

struct host_asking
host_rules_asking(const struct host_rules *rules)
{
        return (struct host_asking){ rules->actor ? rules->actor : rules->principal,
                                     rules->actor == NULL, rules->actors, rules->actor_count };
}

const char *
host_inventory_slug(const struct host_inventory *inventory, struct arena *arena, const char *name)
{
        char *slug;

        for (size_t i = 0; i < inventory->binding_count; i++)
                if (strcmp(inventory->bindings[i].name, name) == 0)
                        return inventory->bindings[i].slug;
        slug = arena_text(arena, name);
        for (char *c = slug; c && *c != '\0'; c++) {
                if (*c >= 'A' && *c <= 'Z')
                        *c = (char)(*c - 'A' + 'a');
                else if (*c == '_')
                        *c = '-';
        }
        return slug;
}

/* -- mounts ------------------------------------------------------------------------------------ */

const struct host_mountable *
host_rules_mountable(const struct host_rules *rules, const char *ref)
{
        for (size_t i = 0; i < rules->mountable_count; i++)
                if (strcmp(rules->mountables[i].ref, ref) == 0)
                        return &rules->mountables[i];
        return NULL;
}

bool
host_names_have(const struct spec_names *names, const char *text)
{
        for (size_t i = 0; i < names->count; i++)
                if (strcmp(names->items[i], text) == 0)
                        return true;
        return false;
}

static bool
path_is_normal(const char *path)
{
        const char *at = path;

        if (*at != '/')
                return false;
        while (*at == '/') {
                size_t len = strcspn(++at, "/");

                if (len == 0 && *at == '/')
                        return false;
                if ((len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
                        return false;
                at += len;
        }
        return true;
}

bool
host_path_is_below(const struct spec_names *roots, const char *path)
{
        if (!path_is_normal(path))
                return false;
        for (size_t i = 0; i < roots->count; i++)
                if (path_below(path, roots->items[i]))
                        return true;
        return false;
}

const char *
host_mount_path(const struct host_rules *rules, const struct spec_mount *mount)
{
        const struct host_mountable *mountable;
        const struct node *path;

        switch (mount->kind) {
        case SPEC_SOURCE_WORKSPACE:
                return ".";
        case SPEC_SOURCE_REF:
        case SPEC_SOURCE_FILE:
                mountable = host_rules_mountable(rules, mount->ref);
                return mountable ? mountable->path : NULL;
        case SPEC_SOURCE_INLINE:
                path = node_find(mount->storage_config, "path");
                if (!path)
                        path = node_find(mount->storage_config, "root");
                return path && path->kind == NODE_STRING ? path->text : NULL;
        }
        return NULL;
}

void
host_rules_bound(struct host_rules *rules, const struct host_ability *machine)
{
        for (size_t i = 0; i < provider_count; i++) {
                const struct host_ability can = host_ability_of(&providers[i], machine);

                if (providers[i].engine != PROVIDER_ENGINE_NONE)
                        bound(rules, providers[i].id, &can);
        }
}

/* -- policies ---------------------------------------------------------------------------------- */

static const struct node *
policy_named(const struct host_rules *rules, const char *ref)
{
        for (size_t i = 0; i < rules->policy_count; i++)
                if (strcmp(rules->policies[i].ref, ref) == 0)
                        return rules->policies[i].body;
        return NULL;
}

const struct node *
host_policy_body(const struct host_rules *rules, const struct node *n)
{
        const struct node *inner = node_find(n, "inline");
        const struct node *ref = node_find(n, "ref");

        if (n->kind == NODE_STRING)
                return policy_named(rules, n->text);
        if (n->kind != NODE_MAP)
                return NULL;
        if (inner)
                return inner->kind == NODE_MAP ? inner : NULL;
        if (!ref)
                ref = node_find(n, "file");
        if (ref)
                return ref->kind == NODE_STRING ? policy_named(rules, ref->text) : NULL;
        return n;
}
