/*
 * prepare/lacking.c - what this machine lacks for each provider of the rules.
 *
 * Room: prepare (joining). Touches: what host/container.h and host/machine.h touch.
 * Theory: `provider: auto` is decided by a room that looks at nothing, so what it has to know of
 * the machine is written into the rules before.
 */
#include "prepare/lacking.h"

#include "host/container.h"
#include "host/machine.h"
#include "spec/provider.h"

/* NULL: what its abilities say is all. */
static const char *(*const lacking[PROVIDER_ENGINE_MAX])(const struct host_facts *facts) = {
        [PROVIDER_ENGINE_OCI] = host_container_lacks,
        [PROVIDER_ENGINE_MACHINE] = host_machine_lacks,
};

void
lacking_note(const struct host_facts *facts, struct host_rules *rules)
{
        for (size_t i = 0; i < rules->providers.count; i++) {
                struct host_provider *here = &rules->providers.items[i];
                const struct provider *known = provider_find(here->id);

                if (known && lacking[known->engine])
                        here->lacks = lacking[known->engine](facts);
        }
}
