/*
 * prepare/policy_digest.c - the version of the rules for commands that apply to a sandbox.
 *
 * Room: prepare (joining). Touches: mem.
 */
#include "prepare/policy_digest.h"

#include <sodium.h>

#include "prepare/commands.h"
#include "text/jcs.h"

int
prepare_policy_digest(const struct spec *spec, const struct host_rules *rules, char ret[65],
                      struct error *e)
{
        unsigned char sum[crypto_hash_sha256_BYTES];
        struct buffer form = { 0 };
        struct node host, manifest, both = { .kind = NODE_MAP };
        int result;

        ret[0] = '\0';
        if (!prepare_has_rules(spec, rules))
                return 0;
        if (spec->carrel.commands) {
                manifest = *spec->carrel.commands;
                manifest.key = "manifest";
                manifest.next = NULL;
                both.first = &manifest;
                both.len++;
        }
        if (rules->commands) {
                host = *rules->commands;
                host.key = "host";
                host.next = both.first;
                both.first = &host;
                both.len++;
        }
        result = jcs_write(&both, NULL, 0, SIZE_MAX / 2, &form, e);
        if (result == 0) {
                (void)crypto_hash_sha256(sum, (const unsigned char *)form.bytes, form.len);
                (void)sodium_bin2hex(ret, 65, sum, sizeof sum);
        }
        buffer_fini(&form);
        return result;
}
