/*
 * policy/host_inventory.c - which secrets a SECRETS.md or the host file declares.
 *
 * Room: policy (deciding, pure). Touches: mem.
 * Knows AIP-19's entries. Knows nothing of values or of where they are kept.
 * Theory: first every entry is searched for members that hold values, so that a leaked value is
 * reported before anything else. Then slugs, bindings and grants are collected.
 */
#include "policy/host_secret.h"

#include <stdio.h>
#include <string.h>

enum { GRANTS_MAX = 64 }; /* for one secret */

static const char *const value_members[] = { "value", "plaintext", "ciphertext", "secret",
                                             "data",  "key",       "token" };

struct collecting {
        struct arena *arena;
        const char **slugs, **restricted;
        struct host_binding *bindings;
        struct host_grant *grants;
        size_t slug_count, restricted_count, binding_count, grant_count, grant_room;
        struct error *e;
};

static int
wrong(struct error *e, enum error_code code, const struct node *n, const char *reason, size_t index,
      const char *tail, const char *message)
{
        char path[96];

        (void)snprintf(path, sizeof path, "secrets/%zu%s%.48s", index, *tail ? "/" : "", tail);
        (void)fail_at(e, code, path, reason, "%s: %s", path, message);
        e->line = n->line;
        e->column = n->column;
        return -1;
}

static int
out_of_memory(struct error *e)
{
        return fail(e, ERROR_NO_MEMORY, "no memory for the secrets inventory");
}

static int
refuse_values(const struct node *entry, size_t index, struct error *e)
{
        for (size_t i = 0; i < sizeof value_members / sizeof value_members[0]; i++) {
                const struct node *n = node_find(entry, value_members[i]);

                if (n)
                        return wrong(e, ERROR_PLAINTEXT_CREDENTIAL, n, "key", index,
                                     value_members[i],
                                     "a SECRETS.md declares secrets and never holds them");
        }
        return 0;
}

/* -- grants ------------------------------------------------------------------------------------ */

/* Exactly one of the five kinds; a grant of an unknown kind grants nothing and is skipped. */
static int
add_grant(struct collecting *c, const struct node *grant, const char *slug, size_t index)
{
        size_t known = 0;

        if (grant->kind != NODE_MAP)
                return wrong(c->e, ERROR_SCHEMA_INVALID, grant, "type", index, "access",
                             "each grant is a map with one of role, userId, cap, tool, workflow");
        for (int kind = 0; kind < HOST_GRANT_MAX; kind++) {
                const struct node *value =
                        node_find(grant, host_grant_word((enum host_grant_kind)kind));

                if (!value)
                        continue;
                if (value->kind != NODE_STRING || value->len == 0 || known++ > 0 || grant->len != 1)
                        return wrong(c->e, ERROR_SCHEMA_INVALID, value, "form", index, "access",
                                     "a grant has exactly one of role, userId, cap, tool, "
                                     "workflow, and it is a word");
                if (c->grant_count == c->grant_room)
                        return wrong(c->e, ERROR_SCHEMA_INVALID, value, "range", index, "access",
                                     "there are too many grants");
                c->grants[c->grant_count++] =
                        (struct host_grant){ slug, (enum host_grant_kind)kind, value->text };
        }
        return 0;
}

/*
 * A list of grants, or a map from operations to such lists: a sandbox binds, and binding is a form
 * of revealing.
 */
static int
collect_access(struct collecting *c, const struct node *access, const char *slug, size_t index)
{
        const struct node *list = access;

        if (access && access->kind == NODE_MAP)
                list = node_find(access, "bind") ? node_find(access, "bind")
                                                 : node_find(access, "reveal");
        if (!access)
                return 0;
        c->restricted[c->restricted_count++] = slug;
        if (!list)
                return 0;
        if (list->kind != NODE_LIST || list->len > GRANTS_MAX)
                return wrong(c->e, ERROR_SCHEMA_INVALID, list, "type", index, "access",
                             "this is a list of at most 64 grants");
        node_each(grant, list) if (add_grant(c, grant, slug, index) < 0) return -1;
        return 0;
}

/* -- bindings ---------------------------------------------------------------------------------- */

static int
add_binding(struct collecting *c, const struct node *name, const char *slug, size_t index)
{
        if (name->kind != NODE_STRING || name->len == 0)
                return wrong(c->e, ERROR_SCHEMA_INVALID, name, "type", index,
                             "metadata/bindings/env", "this is a list of names");
        for (size_t i = 0; i < c->binding_count; i++)
                if (strcmp(c->bindings[i].name, name->text) == 0)
                        return wrong(c->e, ERROR_SCHEMA_INVALID, name, "duplicate", index,
                                     "metadata/bindings/env",
                                     "another secret is bound to this name");
        if (c->binding_count == HOST_SECRETS_MAX)
                return wrong(c->e, ERROR_SCHEMA_INVALID, name, "range", index,
                             "metadata/bindings/env", "there are too many bindings");
        c->bindings[c->binding_count++] = (struct host_binding){ name->text, slug };
        return 0;
}

static int
collect_bindings(struct collecting *c, const struct node *entry, const char *slug, size_t index)
{
        const struct node *names =
                node_find(node_find(node_find(entry, "metadata"), "bindings"), "env");
        const struct node *exposures = node_find(entry, "exposures");

        if (names && names->kind == NODE_LIST)
                node_each(name, names) if (add_binding(c, name, slug, index) < 0) return -1;
        if (!exposures || exposures->kind != NODE_LIST)
                return 0;
        node_each(exposure, exposures)
        {
                const struct node *name = node_find(exposure, "name");

                if (name && node_is_text(node_find(exposure, "kind"), "env") &&
                    add_binding(c, name, slug, index) < 0)
                        return -1;
        }
        return 0;
}

/* -- entries ----------------------------------------------------------------------------------- */

static int
collect(struct collecting *c, const struct node *entry, size_t index)
{
        const struct node *slug = node_find(entry, "slug");

        if (entry->kind != NODE_MAP)
                return wrong(c->e, ERROR_SCHEMA_INVALID, entry, "type", index, "",
                             "each secret is a map with a slug");
        if (refuse_values(entry, index, c->e) < 0)
                return -1;
        if (!slug)
                return wrong(c->e, ERROR_SCHEMA_INVALID, entry, "missing", index, "slug",
                             "each secret has a slug");
        if (slug->kind != NODE_STRING || !host_slug_check(slug->text))
                return wrong(c->e, ERROR_SCHEMA_INVALID, slug, "pattern", index, "slug",
                             "a slug is lower-case words with \"-\", at most one \"/\", 2 to 80 "
                             "characters");
        for (size_t i = 0; i < c->slug_count; i++)
                if (strcmp(c->slugs[i], slug->text) == 0)
                        return wrong(c->e, ERROR_SCHEMA_INVALID, slug, "duplicate", index, "slug",
                                     "this slug is declared twice");
        c->slugs[c->slug_count++] = slug->text;
        return collect_bindings(c, entry, slug->text, index) < 0
                       ? -1
                       : collect_access(c, node_find(entry, "access"), slug->text, index);
}

/* The maximum number of grants that a list can hold, whatever it contains. */
static size_t
count_grants(const struct node *list)
{
        size_t count = 0;

        node_each(entry, list)
        {
                const struct node *access = node_find(entry, "access");

                if (access && access->kind == NODE_MAP)
                        access = node_find(access, "bind") ? node_find(access, "bind")
                                                           : node_find(access, "reveal");
                if (access && access->kind == NODE_LIST)
                        count += access->len < GRANTS_MAX ? access->len : GRANTS_MAX;
        }
        return count;
}

int
host_inventory_read(struct arena *arena, const struct node *list, struct host_inventory *ret,
                    struct error *e)
{
        struct collecting c = { .arena = arena, .e = e };
        size_t index = 0;

        if (list->kind != NODE_LIST || list->len > HOST_SECRETS_MAX)
                return fail_at(e, ERROR_SCHEMA_INVALID, "secrets", "type",
                               "secrets is a list of at most %d entries", HOST_SECRETS_MAX);
        c.grant_room = count_grants(list);
        c.slugs = arena_array(arena, const char *, list->len + 1);
        c.restricted = arena_array(arena, const char *, list->len + 1);
        c.bindings = arena_array(arena, struct host_binding, HOST_SECRETS_MAX);
        c.grants = arena_array(arena, struct host_grant, c.grant_room + 1);
        if (!c.slugs || !c.restricted || !c.bindings || !c.grants)
                return out_of_memory(e);
        node_each(entry, list) if (collect(&c, entry, index++) < 0) return -1;
        ret->slugs = (struct spec_names){ c.slugs, c.slug_count };
        ret->restricted = (struct spec_names){ c.restricted, c.restricted_count };
        ret->bindings = c.bindings;
        ret->binding_count = c.binding_count;
        ret->grants = c.grants;
        ret->grant_count = c.grant_count;
        return 0;
}

/* -- in the host file -------------------------------------------------------------------------- */

static int
unlike(const struct node *n, const char *reason, const char *message, struct error *e)
{
        (void)fail_at(e, ERROR_SCHEMA_INVALID, "secrets", reason, "secrets: %s", message);
        e->line = n->line;
        e->column = n->column;
        error_hint(e, "Correct the host file.");
        return -1;
}

static int
read_words(struct arena *arena, const struct node *n, struct spec_names *ret, struct error *e)
{
        const char **items = n->kind == NODE_LIST && n->len <= HOST_SECRETS_MAX
                                     ? arena_array(arena, const char *, n->len + 1)
                                     : NULL;
        size_t count = 0;

        if (n->kind != NODE_LIST || n->len > HOST_SECRETS_MAX)
                return unlike(n, "type", "this is a list of slugs", e);
        if (!items)
                return out_of_memory(e);
        node_each(item, n)
        {
                if (item->kind != NODE_STRING || item->len == 0)
                        return unlike(item, "type", "each entry is a slug", e);
                items[count++] = item->text;
        }
        *ret = (struct spec_names){ items, count };
        return 0;
}

static int
read_bindings(struct arena *arena, const struct node *n, struct host_inventory *ret,
              struct error *e)
{
        struct host_binding *bindings;
        size_t count = 0;

        if (n->kind != NODE_MAP)
                return unlike(n, "type", "bindings is a map from names to slugs", e);
        bindings = arena_array(arena, struct host_binding, n->len + 1);
        if (!bindings)
                return out_of_memory(e);
        node_each(member, n)
        {
                if (member->kind != NODE_STRING)
                        return unlike(member, "type", "a binding names a slug", e);
                bindings[count++] = (struct host_binding){ member->key, member->text };
        }
        ret->bindings = bindings;
        ret->binding_count = count;
        return 0;
}

static int
read_access(struct arena *arena, const struct node *n, struct host_inventory *ret, struct error *e)
{
        struct collecting c = { .arena = arena, .e = e };
        size_t index = 0;

        if (n->kind != NODE_MAP || n->len > HOST_SECRETS_MAX)
                return unlike(n, "type", "access is a map from slugs to lists of grants", e);
        node_each(member, n) c.grant_room += member->kind == NODE_LIST ? member->len : 0;
        c.restricted = arena_array(arena, const char *, n->len + 1);
        c.grants = arena_array(arena, struct host_grant, c.grant_room + 1);
        if (!c.restricted || !c.grants)
                return out_of_memory(e);
        node_each(member, n)
        {
                if (member->kind != NODE_LIST)
                        return unlike(member, "type",
                                      "access is a map from slugs to lists of grants", e);
                if (collect_access(&c, member, member->key, index++) < 0)
                        return -1;
        }
        ret->restricted = (struct spec_names){ c.restricted, c.restricted_count };
        ret->grants = c.grants;
        ret->grant_count = c.grant_count;
        return 0;
}

static int
read_member(struct arena *arena, const struct node *n, struct host_inventory *ret, struct error *e)
{
        if (strcmp(n->key, "slugs") == 0)
                return read_words(arena, n, &ret->slugs, e);
        if (strcmp(n->key, "deny_bind") == 0)
                return read_words(arena, n, &ret->deny_bind, e);
        if (strcmp(n->key, "bindings") == 0)
                return read_bindings(arena, n, ret, e);
        if (strcmp(n->key, "access") == 0)
                return read_access(arena, n, ret, e);
        if (strcmp(n->key, "declared") == 0) /* the file's content, put there by the room prepare */
                return host_inventory_read(arena, n, ret, e);
        if (strcmp(n->key, "reveal") != 0 || n->kind != NODE_BOOL)
                return unlike(
                        n, "unknown_field",
                        "its members are file or slugs, bindings, access, deny_bind and reveal", e);
        ret->may_reveal = n->boolean;
        return 0;
}

int
host_inventory_entry(struct arena *arena, const struct node *entry, struct host_inventory *ret,
                     struct error *e)
{
        const struct node *first = node_find(entry, "declared");

        *ret = (struct host_inventory){ .ref = entry->key, .may_reveal = true };
        if (entry->kind != NODE_MAP)
                return unlike(entry, "type", "what a ref declares is a map", e);
        if (first && node_find(entry, "slugs"))
                return unlike(entry, "form", "a ref has a file or slugs, not both", e);
        /* lint: what the host says of bindings and access goes before what the file says */
        if (first && read_member(arena, first, ret, e) < 0)
                return -1;
        node_each(member,
                  entry) if (member != first && read_member(arena, member, ret, e) < 0) return -1;
        return 0;
}
