/*
 * prepare/machine.c - finds QEMU and a kernel for a virtual machine on this host.
 *
 * Room: prepare (joining). Touches: what host/machine.h touches.
 */
#include "prepare/machine.h"

#include "host/machine.h"

int
machine_find(struct arena *arena, const struct prepare_host *host, const struct plan_machine **ret,
             struct error *e)
{
        struct plan_machine *found = arena_new(arena, struct plan_machine);
        struct host_machine_lack lack;

        if (!found)
                return fail(e, ERROR_NO_MEMORY, "no memory for a machine");
        if (host_machine_find(arena, host->rules->machine_kernel, found, &lack)) {
                *ret = found;
                return 0;
        }
        if (!lack.reason)
                return fail(e, ERROR_NO_MEMORY, "no memory for a machine");
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "provider", lack.reason, "%s", lack.what);
        error_hint(e, "%s", lack.mend);
        return -1;
}
