/*
 * policy/host_layers.h - the machine's host file and a user's own as one: both add to the built-in rules.
 */
#ifndef CARREL_POLICY_HOST_LAYERS_H
#define CARREL_POLICY_HOST_LAYERS_H

#include "base/arena.h"
#include "base/error.h"
#include "text/tree.h"

/* Refuses a user's own file that has a field which is the machine's alone. Errors: ERROR_SCHEMA_INVALID "machine_only", with place. */
int host_layer_check_users(const struct node *root, struct error *e);

/*
 * The tree that host_rules_read() reads as all of them together: `machine` and `users` (NULL: there is none) were each read by it and are
 * good. Lists are joined, maps are united. Where `machine` names no providers there is `local`; the built-in directories of tools are always there. Borrows
 * both. Errors: ERROR_SCHEMA_INVALID "duplicate" where both say one thing, with the place in `users`; ERROR_NO_MEMORY.
 */
int host_layers_join(struct arena *arena, const struct node *machine, const struct node *users, const struct node **ret, struct error *e);

#endif
