/*
 * secret/bind.c - the secrets a sandbox was permitted, each name with its value.
 *
 * Room: secret (acting). Touches: mem.
 * Knows names, slugs and the holder of values. Knows nothing of processes.
 * Theory: access first, value after; a refusal never looks a value up.
 */
#include "secret/bind.h"

#include <stdio.h>

static int
refuse(struct error *e, const struct spec_secret_name *name, size_t index, const char *reason, const char *what)
{
        char path[48];

        (void)snprintf(path, sizeof path, "env/auth/state/env/%zu", index);
        (void)fail_at(e, ERROR_AUTH_UNRESOLVABLE, path, reason, "%.128s: %s", name->name, what);
        e->line = name->place.line;
        e->column = name->place.column;
        return -1;
}

static int
bind_one(struct arena *arena, const struct spec_env *env, size_t index, const struct host_inventory *inventory,
         const struct secret_values *values, struct secret_bound *ret, struct error *e)
{
        const struct spec_secret_name *name = &env->auth[index];
        char path[48];

        *ret = (struct secret_bound){ .name = name->name, .slug = host_inventory_slug(inventory, arena, name->name) };
        if (!ret->slug)
                return fail(e, ERROR_NO_MEMORY, "no memory to bind secrets");
        if (!host_names_have(&inventory->slugs, ret->slug))
                return refuse(e, name, index, "no_slug", "its secret is not declared");
        if (host_names_have(&inventory->deny_bind, ret->slug))
                return refuse(e, name, index, "bind_denied", "its secret may not be bound into a sandbox");
        (void)snprintf(path, sizeof path, "env/auth/state/env/%zu", index);
        if (secret_value_find(values, ret->slug, path, &ret->value, e) == 0)
                return 0;
        e->line = name->place.line;
        e->column = name->place.column;
        return -1;
}

int
secret_bind(struct arena *arena, const struct spec_env *env, const struct host_rules *rules,
            const struct secret_values *values, const struct secret_bound **ret, size_t *ret_count, struct error *e)
{
        const struct host_inventory *inventory = env->auth_ref ? host_rules_inventory(rules, env->auth_ref) : NULL;
        struct secret_bound *bound = arena_array(arena, struct secret_bound, env->auth_count + 1);

        if (!bound)
                return fail(e, ERROR_NO_MEMORY, "no memory to bind secrets");
        if (env->auth_count > 0 && !inventory)
                return refuse(e, &env->auth[0], 0, env->auth_ref ? "not_found" : "missing_ref", "no inventory declares its secret");
        if (env->auth_count > 0 && !inventory->may_reveal)
                return refuse(e, &env->auth[0], 0, "not_authorised", "its inventory may not be revealed");
        for (size_t i = 0; i < env->auth_count; i++)
                if (bind_one(arena, env, i, inventory, values, &bound[i], e) < 0)
                        return -1;
        *ret = bound;
        *ret_count = env->auth_count;
        return 0;
}
