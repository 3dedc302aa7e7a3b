/*
 * text/visible.h - bytes that may be anything, so that a terminal can only show them (E05).
 *
 * C0 bytes become ^X, C1 and what is no UTF-8 \xNN, what turns the direction of reading \uNNNN, so that output cannot drive the operator's terminal; line ends, tabs and
 * UTF-8 stay. What may go on in the next bytes (the beginning of a character, a carriage return) is held until then.
 */
#ifndef CARREL_TEXT_VISIBLE_H
#define CARREL_TEXT_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>

enum { VISIBLE_MAX = 4 /* bytes that come out for one */, VISIBLE_HELD_MAX = 4 };

/* One stream of bytes; starts zeroed. */
struct visible { char held[VISIBLE_HELD_MAX];  size_t held_len; };

/*
 * Writes what `len` bytes and those held before become, and gives its length. `out` has room for VISIBLE_MAX * (len + VISIBLE_HELD_MAX).
 * `is_last`: nothing goes on, so nothing is held. `in` may be NULL with `len` 0.
 */
size_t visible_write(struct visible *v, const char *in, size_t len, bool is_last, char *out);

#endif
