/*
 * text/builder.h - builds a tree, one value after another, within limits.
 *
 * The YAML and JSON readers use the same builder, so that limits, positions and order are the same
 * for both. Internal to this room.
 */
#ifndef CARREL_TEXT_BUILDER_H
#define CARREL_TEXT_BUILDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "text/limits.h"
#include "text/source.h"
#include "text/tree.h"

struct builder_frame;

struct builder {
        struct arena *arena;
        const struct text_limits *limits;
        struct builder_frame *frames; /* one for each open list or map */
        unsigned depth;               /* frames in use */
        unsigned nodes;
        struct node *root; /* the first value */
};

int builder_init(struct builder *b, struct arena *arena, const struct text_limits *limits,
                 struct error *e);

/* Is a map open and waiting for a key? */
bool builder_wants_key(const struct builder *b);

/* Sets the key of the next value. Copies `len` bytes, which hold no NUL. */
int builder_key(struct builder *b, const char *bytes, size_t len, struct place at, struct error *e);

/*
 * Adds a scalar with this text (copied; no NUL inside) as a NODE_STRING; the caller sets another
 * kind through *ret. Errors: "too_large", ERROR_NO_MEMORY.
 */
int builder_scalar(struct builder *b, const char *bytes, size_t len, struct place at,
                   struct node **ret, struct error *e);

/* Opens a NODE_LIST or NODE_MAP; later values go into it until builder_close(). Errors: as above.
 */
int builder_open(struct builder *b, enum node_kind kind, struct place at, struct error *e);

/* Closes the innermost list or map. Errors: "duplicate_key" at the second of two equal keys. */
int builder_close(struct builder *b, struct error *e);

#endif
