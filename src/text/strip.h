/*
 * text/strip.h - removes from a stream of bytes what a terminal acts on, and what a person cannot
 * see.
 *
 * Terminal control: sequences that begin with ESC or a C1 control (CSI, OSC, DCS, APC, PM, SOS) go
 * as a whole, with what they carry; C0 controls and DEL go, except tab and line feed. A carriage
 * return before a line feed stays; any other becomes a line feed, because the text after it would
 * overwrite the line. A string that has no end goes up to STRIP_STRING_MAX bytes.
 *
 * Hidden: the characters of utf8_is_hidden(), from U+00A0 on: bidirectional controls, zero-width
 * characters, soft hyphens, tags, variation selectors. One U+FE0E or U+FE0F stays behind a
 * character that has such a form (emoji, digits).
 *
 * Bytes that are no UTF-8 stay, but for 0x80 to 0x9f, which an 8-bit terminal takes for C1.
 */
#ifndef CARREL_TEXT_STRIP_H
#define CARREL_TEXT_STRIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum { STRIP_STRING_MAX = 64 * 1024, STRIP_HELD_MAX = 4 };

/* One stream. Starts zeroed, with `control` and `hidden` set. */
struct strip {
        bool control, hidden; /* what is removed */
        unsigned char state;
        bool after_base; /* the last character may have a variation selector */
        bool ends_line;  /* a carriage return is held */
        size_t string_len;
        char held[STRIP_HELD_MAX]; /* the beginning of a character */
        size_t held_len;
        uint64_t controls, hiddens; /* sequences and characters that were removed or replaced */
};

/*
 * Appends to `out` what stays of `len` bytes, and of those held before. `is_last`: no more bytes
 * follow, so nothing is held. How the stream is cut does not change the result. Returns 0, or
 * -ENOMEM: bytes were lost. `in` may be NULL with `len` 0.
 */
int strip_write(struct strip *s, const char *in, size_t len, bool is_last, struct buffer *out);

#endif
