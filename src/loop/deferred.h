/*
 * loop/deferred.h - memory that is freed when it can no longer be in use: after the callback that
 * no longer needs it.
 *
 * A callback of the loop may end the very thing it was called for. What was made here is freed by a
 * timer that is already due, so in the next turn and from nowhere below the caller.
 */
#ifndef CARREL_LOOP_DEFERRED_H
#define CARREL_LOOP_DEFERRED_H

#include <stddef.h>

#include "loop/loop.h"

/* Zeroed memory for a thing that lives in callbacks of `l`, or NULL. */
void *deferred_new(struct loop *l, size_t len) __attribute__((malloc));

/* Frees it in the next turn. Accepts NULL. */
void deferred_free(void *memory);

#define deferred_make(l, type) ((type *)deferred_new((l), sizeof(type)))

#endif
