/*
 * secret/inventory.c - SECRETS.md: which secrets a workspace declares.
 *
 * Room: secret (acting; this file touches nothing but mem).
 * Knows AIP-19's front matter. Knows nothing of values or of where they are kept.
 * Theory: the front matter is taken out here; what its entries mean is policy's, for the host file
 * may hold the same list.
 */
#include "secret/inventory.h"

#include "base/findings.h"
#include "manifest/manifest.h"

int
secret_inventory_list(struct arena *arena, const char *name, const char *bytes, size_t len,
                      const struct node **ret, struct error *e)
{
        struct findings findings;
        struct manifest m;

        findings_init(&findings, arena);
        if (manifest_read(arena, bytes, len, MANIFEST_STANDALONE, MANIFEST_YAML, &m, &findings, e) <
            0)
                return error_wrap(e, "%.100s", name);
        *ret = node_find(m.root, "secrets");
        if (*ret && (*ret)->kind == NODE_LIST)
                return 0;
        return fail_at(e, ERROR_SCHEMA_INVALID, "secrets", *ret ? "type" : "missing",
                       "%.100s has no list of secrets", name);
}

int
secret_inventory_read(struct arena *arena, const char *ref, const char *bytes, size_t len,
                      struct host_inventory *ret, struct error *e)
{
        const struct node *list = NULL;

        if (secret_inventory_list(arena, ref, bytes, len, &list, e) < 0)
                return -1;
        *ret = (struct host_inventory){ .ref = ref, .may_reveal = true };
        return host_inventory_read(arena, list, ret, e) < 0 ? error_wrap(e, "%.100s", ref) : 0;
}
