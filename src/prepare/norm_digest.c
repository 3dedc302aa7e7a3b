/*
 * prepare/norm_digest.c - the hash of what a sandbox is allowed.
 *
 * Room: prepare (joining). Touches: nothing.
 */
#include "prepare/norm_digest.h"

#include <sodium.h>

#include "spec/norm.h"

int
prepare_norm_digest(const struct spec *spec, char ret[65], struct error *e)
{
        unsigned char sum[crypto_hash_sha256_BYTES];
        struct json_writer text;
        int result = 0;

        json_init(&text, false);
        spec_norm_write(&text, spec);
        if (text.is_broken)
                result = fail(e, ERROR_NO_MEMORY, "no memory for a normal form");
        else
                (void)crypto_hash_sha256(sum, (const unsigned char *)text.text, text.len);
        if (result == 0)
                (void)sodium_bin2hex(ret, 65, sum, sizeof sum);
        json_fini(&text);
        return result;
}
