/*
 * codec/encode.h - bytes as words of JSON and of URLs. Pure.
 */
#ifndef CARREL_CODEC_ENCODE_H
#define CARREL_CODEC_ENCODE_H

#include <stddef.h>

#include "text/json.h"

/* Room for the base64 form of `len` bytes, with the NUL. */
#define BASE64_ROOM(len) (((len) + 2) / 3 * 4 + 1)

/* Writes the base64 form and a NUL. Answers its length. */
size_t base64_write(const void *bytes, size_t len, char *out);

/* Reads padded base64 (RFC 4648, no blanks) in place or elsewhere; `out` has len / 4 * 3 bytes. -1: it is none. */
int base64_read(const char *text, size_t len, void *out, size_t *ret_len);

/*
 * Undoes percent-encoding; with `is_query` a plus is a blank. `out` has len + 1 bytes. -1: a percent sign without two hexadecimal digits, or
 * an encoded NUL.
 */
int percent_read(const char *text, size_t len, int is_query, char *out, size_t *ret_len);

/* A member whose value is bytes: text, or base64. */
void encode_member(struct json_writer *w, const char *key, const void *bytes, size_t len, int is_base64);

/* How many of these bytes can be sent as text now: all but an incomplete character at their end. */
size_t encode_whole_len(const char *bytes, size_t len);

#endif
