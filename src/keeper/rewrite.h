/*
 * keeper/rewrite.h - another manifest for a sandbox that exists: a member of its block is replaced,
 * and the whole is judged again, so that permissions have only one source.
 */
#ifndef CARREL_KEEPER_REWRITE_H
#define CARREL_KEEPER_REWRITE_H

#include "keeper/sandbox.h"

/*
 * Adds a copy of `child` to a list or map behind `last`, its last child (NULL: it has none). Gives
 * the copy. NULL: no memory.
 */
struct node *rewrite_add(struct arena *a, struct node *to, const struct node *child,
                         struct node *last);

/*
 * A copy of the map (NULL: an empty one) in which the member `name` is `instead`, at its end; NULL:
 * without that member. The children are shared. NULL: no memory.
 */
struct node *rewrite_member(struct arena *a, const struct node *map, const char *name,
                            struct node *instead);

/* Gives the new block, in `a`. NULL: no memory. */
typedef struct node *rewrite_block(struct arena *a, const struct node *block, const void *context);

/*
 * Packs the manifest with the new block into memory that the caller frees. One without a manifest
 * gets the standard one. Errors: ERROR_NO_MEMORY, ERROR_PROTOCOL.
 */
int rewrite_manifest(const struct sandbox *s, rewrite_block *change, const void *context,
                     struct store_bytes *ret, struct error *e);

/* What else must hold, with s->prepared of the new manifest. `before`: NULL: not known. */
typedef int rewrite_check(struct sandbox *s, const struct spec *before, void *context,
                          struct error *e);

/*
 * Judges the manifest as if its owner created the sandbox now, then calls `check`. On success the
 * sandbox takes it, in memory and in the store; with `is_trial` it keeps what it has, and
 * `manifest` stays the caller's, as on failure.
 */
int rewrite_take(struct sandbox *s, const struct store_bytes *manifest, bool is_trial,
                 rewrite_check *check, void *context, struct error *e);

#endif
