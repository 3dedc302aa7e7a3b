/*
 * text/tree_pack.h - a tree of values as flat bytes and back, so that one process may read text and another judge it.
 *
 * Source and places come along: a judgment made after the journey still names line and column. What comes back is checked as
 * foreign bytes are: lengths, depth, number of nodes, UTF-8 left as it was, numbers read again from their text by nobody.
 */
#ifndef CARREL_TEXT_TREE_PACK_H
#define CARREL_TEXT_TREE_PACK_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "text/tree.h"
#include "text/yaml.h"

/* Bytes that tree_pack() needs for it. A member of a map is a root too: its own key stays behind. */
size_t tree_pack_len(const struct node *root);

/* Writes exactly tree_pack_len() bytes. */
void tree_pack(const struct node *root, void *out);

/* Gives a tree that lives in `arena`; borrows nothing. Errors: ERROR_PROTOCOL (malformed, beyond `limits`), ERROR_NO_MEMORY. */
int tree_unpack(struct arena *arena, const void *bytes, size_t len, const struct text_limits *limits, const struct node **ret, struct error *e);

#endif
