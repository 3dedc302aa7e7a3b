/*
 * loop/later.h - memory that is freed when it can no longer be in use: after the callback that no
 * longer needs it.
 *
 * A callback of the loop may end the very thing it was called for. What was made here is freed by a
 * timer that is already due, so in the next turn and from nowhere below the caller.
 */
#ifndef CARREL_LOOP_LATER_H
#define CARREL_LOOP_LATER_H

#include <stddef.h>

#include "loop/loop.h"

/* Zeroed memory for a thing that lives in callbacks of `l`, or NULL. */
void *later_new(struct loop *l, size_t len) __attribute__((malloc));

/* Frees it in the next turn. Accepts NULL. */
void later_free(void *memory);

#define later_make(l, type) ((type *)later_new((l), sizeof(type)))

#endif
