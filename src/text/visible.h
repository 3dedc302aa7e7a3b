/*
 * text/visible.h - makes arbitrary bytes safe to show on a terminal (E05).
 *
 * C0 bytes become ^X, C1 and invalid UTF-8 \xNN, bidirectional controls \uNNNN, so that output
 * cannot control the operator's terminal. Line ends, tabs and other UTF-8 stay. A sequence that may
 * continue in the next bytes (the beginning of a character, a carriage return) is held until then.
 */
#ifndef CARREL_TEXT_VISIBLE_H
#define CARREL_TEXT_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>

enum { VISIBLE_MAX = 4 /* output bytes for one input byte */, VISIBLE_HELD_MAX = 4 };

/* One stream of bytes; starts zeroed. */
struct visible {
        char held[VISIBLE_HELD_MAX];
        size_t held_len;
};

/*
 * Converts `len` bytes and those held before. Returns the length of the result. `out` has room for
 * VISIBLE_MAX * (len + VISIBLE_HELD_MAX) bytes. `is_last`: no more bytes follow, so nothing is
 * held. `in` may be NULL with `len` 0.
 */
size_t visible_write(struct visible *v, const char *in, size_t len, bool is_last, char *out);

#endif
