/*
 * text/utf8.h - is it UTF-8, and where does it stop being so.
 */
#ifndef CARREL_TEXT_UTF8_H
#define CARREL_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Looks at the first character of `len` (at least 1) bytes. Answers how many bytes it takes: 1 to 4.
 * *ret_point is the code point; where the bytes are no UTF-8 it is UTF8_INVALID, and the answer is the
 * length of the longest beginning of a character found there (at least 1), which is what one U+FFFD
 * stands for in Unicode's recommended practice and in Python's errors='replace'.
 */
size_t utf8_next(const char *bytes, size_t len, uint32_t *ret_point);

#define UTF8_INVALID UINT32_MAX

/* How many bytes at the beginning of `bytes` are whole, valid characters; `len` if all are. */
size_t utf8_valid_len(const char *bytes, size_t len);

/* Does a terminal act on it, or read what follows in another direction: C1 (U+0080 to U+009F), or a bidirectional control? */
bool utf8_drives_terminal(uint32_t point);

#endif
