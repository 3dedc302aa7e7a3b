/*
 * prepare/digest.c - one number for everything that a sandbox is allowed.
 *
 * Room: prepare (joining). Touches: nothing.
 */
#include "prepare/digest.h"

#include <sodium.h>

#include "spec/norm.h"
#include "text/jcs.h"
#include "text/json.h"

enum { NORM_MEMORY = 16 << 20 };

int
prepare_allowed_digest(const struct spec *spec, char ret[PREPARE_DIGEST_TEXT], struct error *e)
{
        unsigned char sum[crypto_hash_sha256_BYTES];
        const struct node *root;
        struct buffer form = { 0 };
        struct json_writer text;
        struct arena arena;
        int result = 0;

        arena_init(&arena, NORM_MEMORY);
        json_init(&text, false);
        spec_norm_write(&text, spec);
        if (text.is_broken)
                result = fail(e, ERROR_NO_MEMORY, "no memory for a normal form");
        if (result == 0)
                result = json_read(&arena, text.text, text.len, &text_limits_manifest, &root, e);
        if (result == 0)
                result = jcs_write(root, NULL, 0, SIZE_MAX / 2, &form, e);
        if (result == 0) {
                (void)crypto_hash_sha256(sum, (const unsigned char *)form.bytes, form.len);
                (void)sodium_bin2hex(ret, PREPARE_DIGEST_TEXT, sum, sizeof sum);
        }
        buffer_fini(&form);
        json_fini(&text);
        arena_fini(&arena);
        return result;
}
