/*
 * ref/graft.h - puts what a file contains where a manifest or a host file refers to it.
 *
 * Places of the content would be taken for places of the referring file, so each node gets the
 * place of the reference. Trees are never changed: what changes is copied.
 */
#ifndef CARREL_REF_GRAFT_H
#define CARREL_REF_GRAFT_H

#include "base/arena.h"
#include "base/error.h"
#include "text/tree.h"

/* A copy of `n` in `arena`, each node with the place of `reference`. NULL: no memory. */
struct node *ref_graft_copy(struct arena *arena, const struct node *n,
                            const struct node *reference);

/* Replaces `member` of the map *tree by `value`, in a copy. Errors: ERROR_NO_MEMORY. */
int ref_graft_member(struct arena *arena, const struct node **tree, const struct node *member,
                     struct node *value, struct error *e);

/*
 * Makes an error about the file one about the reference to it, a text, at `path` of the referring
 * file: the file's name and line become part of the message. Returns -1.
 */
int ref_graft_fail(struct error *e, const struct node *reference, const char *path);

#endif
