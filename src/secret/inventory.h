/*
 * secret/inventory.h - SECRETS.md: which secrets a workspace declares, never what they are.
 *
 * Front matter `secrets: [{slug, name, description, access: [{role: ops}], metadata: {bindings:
 * {env: [NAME]}}, exposures: [...]}]`. An entry that holds a value is refused: this file is read by
 * people and kept in version control. Source: AIP-19.
 */
#ifndef CARREL_SECRET_INVENTORY_H
#define CARREL_SECRET_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/host_rules.h"
#include "text/tree.h"

/*
 * Reads `len` bytes of a SECRETS.md; `ref` is how the manifest names it. Gives slugs and bindings;
 * may_reveal is true (whose file it is, the caller knows) and deny_bind is empty. Errors: those of
 * manifest_read(), ERROR_SCHEMA_INVALID with a path into the file, ERROR_PLAINTEXT_CREDENTIAL
 * "key", ERROR_NO_MEMORY.
 */
int secret_inventory_read(struct arena *arena, const char *ref, const char *bytes, size_t len,
                          struct host_inventory *ret, struct error *e);

/* The list alone, as it stands. Errors: those of manifest_read(), ERROR_SCHEMA_INVALID "missing".
 */
int secret_inventory_list(struct arena *arena, const char *name, const char *bytes, size_t len,
                          const struct node **ret, struct error *e);

#endif
