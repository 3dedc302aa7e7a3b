/*
 * prepare/container.c - finds the container runtime of a manifest on this host.
 *
 * Room: prepare (joining). Touches: what host/container.h touches.
 */
#include "prepare/container.h"

#include "host/container.h"

int
container_find(const struct spec *spec, const char **ret_path, struct error *e)
{
        const struct node *wanted = node_find(spec->config, "runtime");
        const char *name = wanted ? wanted->text : HOST_CONTAINER_STANDARD;

        *ret_path = host_container_find(name);
        if (*ret_path)
                return 0;
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, wanted ? "config/runtime" : "provider",
                      "no_runtime", "this machine has no container runtime %.16s", name);
        error_hint(e, "%s", host_container_install(name));
        return -1;
}
