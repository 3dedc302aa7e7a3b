/*
 * text/utf8.h - checks UTF-8 and finds the first invalid byte.
 */
#ifndef CARREL_TEXT_UTF8_H
#define CARREL_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the first character of `len` (at least 1) bytes. Returns how many bytes it takes: 1 to 4.
 * *ret_point is the code point. If the bytes are not UTF-8 it is UTF8_INVALID; the result is then
 * the length of the longest valid beginning of a character (at least 1). One U+FFFD replaces these
 * bytes in Unicode's recommended practice and in Python's errors='replace'.
 */
size_t utf8_next(const char *bytes, size_t len, uint32_t *ret_point);

#define UTF8_INVALID UINT32_MAX

/* How many bytes at the beginning of `bytes` are whole, valid characters; `len` if all are. */
size_t utf8_valid_len(const char *bytes, size_t len);

/*
 * Does a terminal act on it, or change the text direction: C1 (U+0080 to U+009F), or a
 * bidirectional control?
 */
bool utf8_drives_terminal(uint32_t point);

/*
 * Can a person not see it, or does it change what they see: C0, DEL, C1, bidirectional controls,
 * zero-width and other invisible characters?
 */
bool utf8_is_hidden(uint32_t point);

#endif
