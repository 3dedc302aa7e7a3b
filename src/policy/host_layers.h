/*
 * policy/host_layers.h - joins the machine's host file and a user's own: both add to the built-in
 * rules.
 */
#ifndef CARREL_POLICY_HOST_LAYERS_H
#define CARREL_POLICY_HOST_LAYERS_H

#include "base/arena.h"
#include "base/error.h"
#include "text/tree.h"

/*
 * Refuses a user's own file that has a field only the machine's file may have. Errors:
 * ERROR_SCHEMA_INVALID "machine_only", with place.
 */
int host_layer_check_users(const struct node *root, struct error *e);

/*
 * Joins `machine` and `users` (NULL: no file) into one tree for host_rules_read(), which has read
 * each of them without error. Lists and maps are united. If `machine` names no providers, those
 * of this build are added; the built-in tool directories are always included. Borrows both. Errors:
 * ERROR_SCHEMA_INVALID "duplicate" if both define the same entry, with the place in `users`;
 * ERROR_NO_MEMORY.
 */
int host_layers_join(struct arena *arena, const struct node *machine, const struct node *users,
                     const struct node **ret, struct error *e);

/*
 * Copies a host file that stands alone. If it does not name providers, those of this build are
 * added, and *ret_added is true. Borrows `alone`. Errors: ERROR_NO_MEMORY.
 */
int host_layer_complete(struct arena *arena, const struct node *alone, const struct node **ret,
                        bool *ret_added, struct error *e);

#endif
