/*
 * image/digest.h - SHA-256 digests as images write them: "sha256:" and 64 lower hexadecimal digits.
 * Source: OCI image specification, descriptor.md (Digests).
 */
#ifndef CARREL_IMAGE_DIGEST_H
#define CARREL_IMAGE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BYTES = 32, DIGEST_HEX = 65, DIGEST_TEXT = 72 /* with the NUL */ };

struct digest {
        uint8_t bytes[DIGEST_BYTES];
};

/* Reads "sha256:HEX". False for any other algorithm or form. `text` may be NULL. */
bool digest_read(const char *text, struct digest *ret);
/* Reads HEX alone, of 64 digits. */
bool digest_read_hex(const char *hex, struct digest *ret);

void digest_hex(const struct digest *d, char out[DIGEST_HEX]);
void digest_text(const struct digest *d, char out[DIGEST_TEXT]);
bool digest_equals(const struct digest *a, const struct digest *b);

/* Of `len` bytes. */
void digest_of(const void *bytes, size_t len, struct digest *ret);

/*
 * Copies `from` (from its current position) to `to` and hashes what is copied. `bytes_max`: more is
 * refused. *ret_bytes: how many. 0 or -errno (EFBIG: more than bytes_max).
 */
int digest_copy(int from, int to, uint64_t bytes_max, struct digest *ret, uint64_t *ret_bytes);

#endif
