/*
 * fuzz/secrets.c - any bytes as a SECRETS.md, and as what a host file says of secrets:
 * declarations, grants and sources, or an error.
 *
 * Beyond not crashing: a slug is well-formed and unique, no entry that was read holds a value, a
 * grant belongs to a slug that is restricted, no user is granted access without a grant, and a
 * source is of one kind with what that kind needs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/host_rules.h"
#include "secret/inventory.h"
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

static void
check_access(const struct host_inventory *i, const char *slug)
{
        const struct host_asking nobody = { "nobody\x01that a file can name", false, NULL, 0 },
                                 owner = { nobody.user, true, NULL, 0 };
        const struct host_grant *by = NULL;

        must(!host_secret_granted(i, slug, &nobody, &by) && !by);
        must(host_secret_granted(i, slug, &owner, &by) == !host_names_have(&i->restricted, slug));
}

static void
check_inventory(const struct host_inventory *i)
{
        must(i->slugs.count <= HOST_SECRETS_MAX && i->binding_count <= HOST_SECRETS_MAX &&
             i->may_reveal && i->deny_bind.count == 0);
        for (size_t a = 0; a < i->slugs.count; a++) {
                must(host_slug_check(i->slugs.items[a]));
                for (size_t b = 0; b < a && a < 64; b++)
                        must(strcmp(i->slugs.items[a], i->slugs.items[b]) != 0);
                check_access(i, i->slugs.items[a]);
        }
        for (size_t g = 0; g < i->grant_count; g++)
                must(i->grants[g].kind < HOST_GRANT_MAX && i->grants[g].value[0] != '\0' &&
                     host_names_have(&i->restricted, i->grants[g].slug));
        for (size_t b = 0; b < i->binding_count; b++)
                must(i->bindings[b].name[0] != '\0' &&
                     host_names_have(&i->slugs, i->bindings[b].slug));
}

static void
check_sources(const struct host_sources *s)
{
        must(s->count <= HOST_SOURCES_MAX);
        for (size_t i = 0; i < s->count; i++) {
                const struct host_source *one = &s->items[i];

                must(one->timeout_ms >= 1 && one->timeout_ms <= HOST_COMMAND_TIMEOUT_MAX_MS);
                must((one->path != NULL) ==
                     (one->kind == HOST_SOURCE_FILE || one->kind == HOST_SOURCE_DIRECTORY));
                must((one->argv.count > 0) == (one->kind == HOST_SOURCE_COMMAND) &&
                     (one->variable_count > 0) == (one->kind == HOST_SOURCE_ENVIRONMENT));
                must(one->argv.count == 0 || one->argv.items[0][0] == '/');
                for (size_t v = 0; v < one->variable_count; v++)
                        must(host_slug_check(one->variables[v].slug) &&
                             host_sources_have_variable(s, one->variables[v].name));
        }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        struct host_inventory inventory = { .ref = NULL };
        struct host_rules *rules = NULL;
        const struct node *root = NULL;
        struct error e = { 0 };
        struct arena arena;

        arena_init(&arena, MEMORY_MAX);
        if (secret_inventory_read(&arena, "./SECRETS.md", (const char *)data, len, &inventory,
                                  &e) == 0)
                check_inventory(&inventory);
        else
                must(e.code != ERROR_NONE && e.message[0] != '\0');
        if (yaml_read(&arena, (const char *)data, len, 1, &text_limits_manifest, &root, &e) == 0 &&
            root->kind == NODE_MAP &&
            host_rules_read(&arena, root, "operator://fuzz", &rules, &e) == 0)
                check_sources(&rules->sources);
        arena_fini(&arena);
        return 0;
}
