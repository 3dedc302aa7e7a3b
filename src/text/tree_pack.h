/*
 * text/tree_pack.h - packs a tree of values into flat bytes and back, so that one process can read
 * text and another can judge it.
 *
 * Scalars' source text and places are included, so that the other process can name line and column.
 * Unpacking checks the bytes as foreign: lengths, depth, number of nodes. It does not check UTF-8
 * and does not parse numbers again from their text.
 */
#ifndef CARREL_TEXT_TREE_PACK_H
#define CARREL_TEXT_TREE_PACK_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "text/limits.h"
#include "text/tree.h"

/* Bytes that tree_pack() needs. A member of a map can be a root too: its own key is left out. */
size_t tree_pack_len(const struct node *root);

/* Writes exactly tree_pack_len() bytes. */
void tree_pack(const struct node *root, void *out);

/* Gives a tree that lives in `arena`; borrows nothing. Errors: ERROR_PROTOCOL (malformed, beyond
 * `limits`), ERROR_NO_MEMORY. */
int tree_unpack(struct arena *arena, const void *bytes, size_t len,
                const struct text_limits *limits, const struct node **ret, struct error *e);

#endif
