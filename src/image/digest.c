/*
 * image/digest.c - SHA-256 digests as images write them.
 *
 * Room: image (joining). Touches: fd (two that the caller opened).
 */
#include "image/digest.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/write_all.h"

#define PREFIX "sha256:"

enum { COPY_BYTES = 256 << 10 };

bool
digest_read_hex(const char *hex, struct digest *ret)
{
        size_t len;

        if (strspn(hex, "0123456789abcdef") != (size_t)DIGEST_HEX - 1 ||
            hex[DIGEST_HEX - 1] != '\0')
                return false;
        return sodium_hex2bin(ret->bytes, sizeof ret->bytes, hex, DIGEST_HEX - 1, NULL, &len,
                              NULL) == 0 &&
               len == sizeof ret->bytes;
}

bool
digest_read(const char *text, struct digest *ret)
{
        return text && strncmp(text, PREFIX, strlen(PREFIX)) == 0 &&
               digest_read_hex(text + strlen(PREFIX), ret);
}

void
digest_hex(const struct digest *d, char out[DIGEST_HEX])
{
        (void)sodium_bin2hex(out, DIGEST_HEX, d->bytes, sizeof d->bytes);
}

void
digest_text(const struct digest *d, char out[DIGEST_TEXT])
{
        char hex[DIGEST_HEX];

        digest_hex(d, hex);
        (void)snprintf(out, DIGEST_TEXT, PREFIX "%s", hex);
}

bool
digest_equals(const struct digest *a, const struct digest *b)
{
        return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void
digest_of(const void *bytes, size_t len, struct digest *ret)
{
        (void)crypto_hash_sha256(ret->bytes, bytes, len);
}

int
digest_copy(int from, int to, uint64_t bytes_max, struct digest *ret, uint64_t *ret_bytes)
{
        static char part[COPY_BYTES];
        crypto_hash_sha256_state state;
        ssize_t got;

        *ret_bytes = 0;
        (void)crypto_hash_sha256_init(&state);
        while ((got = read(from, part, sizeof part)) != 0) {
                int result;

                if (got < 0 && errno == EINTR)
                        continue;
                if (got < 0)
                        return -errno;
                *ret_bytes += (uint64_t)got;
                if (*ret_bytes > bytes_max)
                        return -EFBIG;
                (void)crypto_hash_sha256_update(&state, (const unsigned char *)part, (size_t)got);
                result = write_all(to, part, (size_t)got);
                if (result < 0)
                        return result;
        }
        (void)crypto_hash_sha256_final(&state, ret->bytes);
        return 0;
}
