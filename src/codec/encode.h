/*
 * codec/encode.h - encodes bytes for JSON and URLs, and decodes them. Pure.
 */
#ifndef CARREL_CODEC_ENCODE_H
#define CARREL_CODEC_ENCODE_H

#include <stddef.h>

#include "text/json.h"

/* Bytes needed for the base64 form of `len` bytes, including the NUL. */
#define BASE64_ROOM(len) (((len) + 2) / 3 * 4 + 1)

/* Writes the base64 form and a NUL. Returns its length without the NUL. */
size_t base64_write(const void *bytes, size_t len, char *out);

/*
 * Decodes padded base64 (RFC 4648; line breaks are skipped), in place or elsewhere. `out` has room
 * for len / 4 * 3 bytes. Returns -1 if the text is not base64.
 */
int base64_read(const char *text, size_t len, void *out, size_t *ret_len);

/*
 * Decodes percent-encoding; with `is_query`, "+" is a space. `out` has room for len + 1 bytes.
 * Returns -1 for a percent sign without two hexadecimal digits, and for an encoded NUL.
 */
int percent_read(const char *text, size_t len, int is_query, char *out, size_t *ret_len);

/* Writes a member whose value is bytes, as text or as base64. */
void encode_member(struct json_writer *w, const char *key, const void *bytes, size_t len,
                   int is_base64);

/*
 * Returns how many of these bytes can be sent as text now: all but an incomplete character at the
 * end.
 */
size_t encode_whole_len(const char *bytes, size_t len);

#endif
