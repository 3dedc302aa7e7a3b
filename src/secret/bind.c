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
refuse(struct error *e, const struct spec_secret_name *name, size_t index, const char *reason,
       const char *what)
{
        char path[48];

        (void)snprintf(path, sizeof path, "env/auth/state/env/%zu", index);
        (void)fail_at(e, ERROR_AUTH_UNRESOLVABLE, path, reason, "%.128s: %s", name->name, what);
        e->line = name->place.line;
        e->column = name->place.column;
        return -1;
}

static int
want(struct arena *arena, const struct spec_env *env, size_t index,
     const struct host_inventory *inventory, const struct host_asking *asking,
     struct secret_bound *ret, struct error *e)
{
        const struct spec_secret_name *name = &env->auth[index];

        *ret = (struct secret_bound){
                .name = name->name,
                .slug = name->slug ? name->slug : host_inventory_slug(inventory, arena, name->name)
        };
        if (!ret->slug)
                return fail(e, ERROR_NO_MEMORY, "no memory to bind secrets");
        if (!host_names_have(&inventory->slugs, ret->slug))
                return refuse(e, name, index, "no_slug", "its secret is not declared");
        if (host_names_have(&inventory->deny_bind, ret->slug))
                return refuse(e, name, index, "bind_denied",
                              "its secret may not be bound into a sandbox");
        if (!host_secret_granted(inventory, ret->slug, asking, &ret->grant))
                return refuse(e, name, index, "bind_denied", "no grant gives access to its secret");
        return 0;
}

int
secret_wanted(struct arena *arena, const struct spec_env *env, const struct host_rules *rules,
              struct secret_bound **ret, size_t *ret_count, struct error *e)
{
        const struct host_inventory *inventory =
                env->auth_ref ? host_rules_inventory(rules, env->auth_ref) : NULL;
        const struct host_asking asking = host_rules_asking(rules);
        struct secret_bound *bound = arena_array(arena, struct secret_bound, env->auth_count + 1);

        *ret_count = 0;
        if (!bound)
                return fail(e, ERROR_NO_MEMORY, "no memory to bind secrets");
        if (env->auth_count > 0 && !inventory)
                return refuse(e, &env->auth[0], 0, env->auth_ref ? "not_found" : "missing_ref",
                              "no inventory declares its secret");
        if (env->auth_count > 0 && !inventory->may_reveal)
                return refuse(e, &env->auth[0], 0, "not_authorised",
                              "its inventory may not be revealed");
        for (*ret_count = 0; *ret_count < env->auth_count; (*ret_count)++)
                if (want(arena, env, *ret_count, inventory, &asking, &bound[*ret_count], e) < 0)
                        return -1;
        *ret = bound;
        return 0;
}

void
secret_asked_by(const struct spec_env *env, size_t index, struct error *e)
{
        if (index >= env->auth_count)
                return;
        (void)snprintf(e->path, sizeof e->path, "env/auth/state/env/%zu", index);
        e->line = env->auth[index].place.line;
        e->column = env->auth[index].place.column;
}

int
secret_bind(struct arena *arena, const struct spec_env *env, const struct host_rules *rules,
            const struct secret_values *values, const struct secret_bound **ret, size_t *ret_count,
            struct error *e)
{
        struct secret_bound *bound = NULL;

        if (secret_wanted(arena, env, rules, &bound, ret_count, e) < 0)
                return -1;
        for (size_t i = 0; bound && i < *ret_count; i++)
                if (secret_value_find(values, bound[i].slug, "", &bound[i].value, e) < 0) {
                        secret_asked_by(env, i, e);
                        return -1;
                }
        *ret = bound;
        return 0;
}
