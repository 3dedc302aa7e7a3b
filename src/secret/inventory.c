/*
 * secret/inventory.c - SECRETS.md: which secrets a workspace declares.
 *
 * Room: secret (acting; this file touches nothing but mem).
 * Knows AIP-19's front matter. Knows nothing of values or of where they are kept.
 * Theory: first every entry is searched for members that hold values, so that a leaked value is named before
 * anything else is said; then slugs and bindings are collected.
 */
#include "secret/inventory.h"

#include <stdio.h>
#include <string.h>

#include "base/findings.h"
#include "manifest/manifest.h"

enum { SECRETS_MAX = 1024 };

static const char *const value_members[] = { "value", "plaintext", "ciphertext", "secret", "data", "key", "token" };

static int
wrong(struct error *e, enum error_code code, const struct node *n, const char *reason, size_t index, const char *tail,
      const char *message)
{
        char path[96];

        (void)snprintf(path, sizeof path, "secrets/%zu%s%.48s", index, *tail ? "/" : "", tail);
        (void)fail_at(e, code, path, reason, "%s: %s", path, message);
        e->line = n->line;
        e->column = n->column;
        return -1;
}

/* One part of a slug: [a-z][a-z0-9-]*[a-z0-9] */
static bool
part_check(const char *text, size_t len)
{
        if (len < 2 || text[0] < 'a' || text[0] > 'z' || text[len - 1] == '-')
                return false;
        for (size_t i = 0; i < len; i++)
                if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9') || text[i] == '-'))
                        return false;
        return true;
}

bool
secret_slug_check(const char *text)
{
        const char *slash = strchr(text, '/');
        size_t len = strlen(text);

        if (len < 2 || len > 80)
                return false;
        if (!slash)
                return part_check(text, len);
        return part_check(text, (size_t)(slash - text)) && part_check(slash + 1, strlen(slash + 1));
}

static int
refuse_values(const struct node *entry, size_t index, struct error *e)
{
        for (size_t i = 0; i < sizeof value_members / sizeof value_members[0]; i++) {
                const struct node *n = node_find(entry, value_members[i]);

                if (n)
                        return wrong(e, ERROR_PLAINTEXT_CREDENTIAL, n, "key", index, value_members[i],
                                     "a SECRETS.md declares secrets and never holds them");
        }
        return 0;
}

struct collecting {
        const char **slugs;
        size_t slug_count;
        struct host_binding *bindings;
        size_t binding_count, binding_room;
};

static int
add_binding(struct collecting *c, const struct node *name, const char *slug, size_t index, struct error *e)
{
        if (name->kind != NODE_STRING || name->len == 0)
                return wrong(e, ERROR_SCHEMA_INVALID, name, "type", index, "metadata/bindings/env", "this is a list of names");
        for (size_t i = 0; i < c->binding_count; i++)
                if (strcmp(c->bindings[i].name, name->text) == 0)
                        return wrong(e, ERROR_SCHEMA_INVALID, name, "duplicate", index, "metadata/bindings/env",
                                     "another secret is bound to this name");
        if (c->binding_count == c->binding_room)
                return wrong(e, ERROR_SCHEMA_INVALID, name, "range", index, "metadata/bindings/env", "there are too many bindings");
        c->bindings[c->binding_count++] = (struct host_binding){ name->text, slug };
        return 0;
}

static int
collect_bindings(struct collecting *c, const struct node *entry, const char *slug, size_t index, struct error *e)
{
        const struct node *names = node_find(node_find(node_find(entry, "metadata"), "bindings"), "env");
        const struct node *exposures = node_find(entry, "exposures");

        if (names && names->kind == NODE_LIST)
                node_each(name, names)
                        if (add_binding(c, name, slug, index, e) < 0)
                                return -1;
        if (!exposures || exposures->kind != NODE_LIST)
                return 0;
        node_each(exposure, exposures) {
                const struct node *name = node_find(exposure, "name");

                if (name && node_is_text(node_find(exposure, "kind"), "env") && add_binding(c, name, slug, index, e) < 0)
                        return -1;
        }
        return 0;
}

static int
collect(struct collecting *c, const struct node *entry, size_t index, struct error *e)
{
        const struct node *slug = node_find(entry, "slug");

        if (entry->kind != NODE_MAP)
                return wrong(e, ERROR_SCHEMA_INVALID, entry, "type", index, "", "each secret is a map with a slug");
        if (refuse_values(entry, index, e) < 0)
                return -1;
        if (!slug)
                return wrong(e, ERROR_SCHEMA_INVALID, entry, "missing", index, "slug", "each secret has a slug");
        if (slug->kind != NODE_STRING || !secret_slug_check(slug->text))
                return wrong(e, ERROR_SCHEMA_INVALID, slug, "pattern", index, "slug",
                             "a slug is lower-case words with \"-\", at most one \"/\", 2 to 80 characters");
        for (size_t i = 0; i < c->slug_count; i++)
                if (strcmp(c->slugs[i], slug->text) == 0)
                        return wrong(e, ERROR_SCHEMA_INVALID, slug, "duplicate", index, "slug", "this slug is declared twice");
        c->slugs[c->slug_count++] = slug->text;
        return collect_bindings(c, entry, slug->text, index, e);
}

static int
read_list(struct arena *arena, const struct node *list, struct host_inventory *ret, struct error *e)
{
        struct collecting c = { .binding_room = SECRETS_MAX };
        size_t index = 0;

        c.slugs = arena_array(arena, const char *, list->len + 1);
        c.bindings = arena_array(arena, struct host_binding, SECRETS_MAX);
        if (!c.slugs || !c.bindings)
                return fail(e, ERROR_NO_MEMORY, "no memory for the secrets inventory");
        node_each(entry, list)
                if (collect(&c, entry, index++, e) < 0)
                        return -1;
        ret->slugs = (struct spec_names){ c.slugs, c.slug_count };
        ret->bindings = c.bindings;
        ret->binding_count = c.binding_count;
        return 0;
}

int
secret_inventory_read(struct arena *arena, const char *ref, const char *bytes, size_t len,
                      struct host_inventory *ret, struct error *e)
{
        struct findings findings;
        struct manifest m;
        const struct node *list;

        findings_init(&findings, arena);
        if (manifest_read(arena, bytes, len, MANIFEST_STANDALONE, MANIFEST_YAML, &m, &findings, e) < 0)
                return error_wrap(e, "%.100s", ref);
        *ret = (struct host_inventory){ .ref = ref, .may_reveal = true };
        list = node_find(m.root, "secrets");
        if (!list)
                return fail_at(e, ERROR_SCHEMA_INVALID, "secrets", "missing", "%.100s has no list of secrets", ref);
        if (list->kind != NODE_LIST || list->len > SECRETS_MAX)
                return fail_at(e, ERROR_SCHEMA_INVALID, "secrets", "type", "%.100s: secrets is a list of at most %d entries",
                               ref, SECRETS_MAX);
        return read_list(arena, list, ret, e) < 0 ? error_wrap(e, "%.100s", ref) : 0;
}
