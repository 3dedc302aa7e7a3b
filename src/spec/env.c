/*
 * spec/env.c - which variables a command receives: names of secrets, and names of host variables.
 * Never values.
 *
 * Room: spec (deciding, pure). Touches: mem.
 * Knows the names. Knows nothing of secrets, nor of which host variables a host permits.
 */
#include <string.h>

#include "spec/section.h"

enum { NAMES_MAX = 256, NAME_MAX_LEN = 128 };

bool
env_name_check(const char *text)
{
        size_t len = 0;

        for (; text[len]; len++) {
                char c = text[len];
                bool is_letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';

                if (!is_letter && (len == 0 || c < '0' || c > '9'))
                        return false;
        }
        return len > 0 && len <= NAME_MAX_LEN;
}

static const struct field name_row = {
        .kind = FIELD_TEXT,
        .pattern = "^[A-Za-z_][A-Za-z0-9_]{0,127}$",
        .matches = env_name_check,
        .offset = offsetof(struct spec_secret_name, name),
        .help = "a letter or \"_\", then letters, digits and \"_\", 128 at most; no patterns."
};
static const struct field_set name_set = { &name_row, 1, .code = ERROR_SCHEMA_INVALID };

static void
names_read(struct judge *j, const struct node *list, const struct trail *at,
           const struct spec_secret_name **ret, size_t *ret_count)
{
        struct spec_secret_name *names =
                arena_array(j->arena, struct spec_secret_name, list->len + 1);
        size_t count = 0, index = 0;

        if (!names)
                return;
        node_each(item, list)
        {
                struct trail here = { at, NULL, index++ };

                if (!field_item_read(j, &name_set, item, &here, &names[count]))
                        continue;
                names[count++].place = (struct spec_place){ item->line, item->column };
        }
        *ret = names;
        *ret_count = count;
}

static void
auth_names_read(struct judge *j, const struct node *list, const struct trail *at, void *base)
{
        struct spec_env *env = base;

        names_read(j, list, at, &env->auth, &env->auth_count);
}

static void
passthrough_read(struct judge *j, const struct node *list, const struct trail *at, void *base)
{
        struct spec_env *env = base;

        names_read(j, list, at, &env->passthrough, &env->passthrough_count);
}

static const struct field state_rows[] = {
        { .name = "env",
          .kind = FIELD_LIST,
          .max = NAMES_MAX,
          .item = &name_row,
          .read = auth_names_read,
          .help = "Names of variables that hold secrets; each must resolve through `ref`." },
};
static const struct field_set state_set = { FIELD_SET(state_rows), .code = ERROR_SCHEMA_INVALID };

static const struct field auth_rows[] = {
        { .name = "ref",
          .kind = FIELD_TEXT,
          .min = 1,
          .offset = offsetof(struct spec_env, auth_ref),
          .help = "The SECRETS.md (AIP-19) that holds the inventory: ./path, ../sibling/path or "
                  "@owner/slug." },
        { .name = "state",
          .kind = FIELD_MAP,
          .offset = FIELD_NOWHERE,
          .members = &state_set,
          .help = "What is taken from it." },
};
static const struct field_set auth_set = { FIELD_SET(auth_rows), .code = ERROR_SCHEMA_INVALID };

static const struct field env_rows[] = {
        { .name = "auth",
          .kind = FIELD_MAP,
          .offset = FIELD_NOWHERE,
          .members = &auth_set,
          .help = "Variables whose values are secrets." },
        { .name = "passthrough",
          .kind = FIELD_LIST,
          .max = NAMES_MAX,
          .item = &name_row,
          .read = passthrough_read,
          .help = "Names of host variables to forward; names that look like credentials are "
                  "refused by the host." },
};

const struct field_set env_set = {
        FIELD_SET(env_rows), .code = ERROR_SCHEMA_INVALID,
        .hint = "A manifest holds no values. Set one for a call with -e NAME=VALUE, or list the "
                "NAME under env.passthrough, or under "
                "env.auth.state.env if it is a secret."
};

void
env_read(struct judge *j, const struct node *map, const struct trail *at, void *base)
{
        struct spec_env *env = &((struct spec *)base)->env;
        const struct node *ref = node_find(node_find(map, "auth"), "ref");

        (void)fields_read(j, &env_set, map, at, env);
        if (ref)
                env->auth_place = (struct spec_place){ ref->line, ref->column };
        for (size_t i = 0; i < env->auth_count; i++)
                for (size_t k = 0; k < env->passthrough_count; k++)
                        if (strcmp(env->auth[i].name, env->passthrough[k].name) == 0) {
                                judge_error(j, map, at, ERROR_ENV_CONFLICT, "duplicate", NULL,
                                            "`%s` is listed as a secret and as passthrough",
                                            judge_quote(j, env->auth[i].name));
                                return;
                        }
}
