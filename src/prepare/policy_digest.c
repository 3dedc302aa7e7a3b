/*
 * prepare/policy_digest.c - the version of the rules for commands that apply to a sandbox.
 *
 * Room: prepare (joining). Touches: mem.
 */
#include "prepare/policy_digest.h"

#include <sodium.h>
#include <string.h>

#include "prepare/commands.h"
#include "text/jcs.h"
#include "text/redact_group.h"

static const char *const groups[REDACT_GROUP_MAX] = {
#define REDACT_GROUP(name, can_be_off, help) #name,
#include "text/redact_group.def"
#undef REDACT_GROUP
};

/* The list of groups that are off, in `items`. */
static struct node
list_groups(uint32_t off, struct node items[REDACT_GROUP_MAX])
{
        struct node list = { .kind = NODE_LIST, .key = "redact_off" };

        for (int i = REDACT_GROUP_MAX; i-- > 0;) {
                if ((off & 1u << i) == 0)
                        continue;
                items[i] = (struct node){ .kind = NODE_STRING,
                                          .text = groups[i],
                                          .len = strlen(groups[i]),
                                          .next = list.first };
                list.first = &items[i];
                list.len++;
        }
        return list;
}

int
prepare_policy_digest(const struct spec *spec, const struct host_rules *rules, char ret[65],
                      struct error *e)
{
        unsigned char sum[crypto_hash_sha256_BYTES];
        struct buffer form = { 0 };
        struct node host, manifest, items[REDACT_GROUP_MAX],
                redact = list_groups(rules->redact_off, items), both = { .kind = NODE_MAP };
        int result;

        ret[0] = '\0';
        if (!prepare_has_rules(spec, rules) && redact.len == 0)
                return 0;
        if (redact.len > 0) {
                both.first = &redact;
                both.len++;
        }
        if (spec->carrel.commands) {
                manifest = *spec->carrel.commands;
                manifest.key = "manifest";
                manifest.next = both.first;
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
