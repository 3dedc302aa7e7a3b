/*
 * host/container.c - the container runtimes of this host.
 *
 * Room: host (acting). Touches: names in root's directories of programs.
 */
#include "host/container.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "host/attempt.h"

struct runtime_row {
        const char *name, *install;
        const char *paths[5];
};

#define PLACES(name)                                                                \
        {                                                                           \
                "/usr/local/sbin/" name, "/usr/local/bin/" name, "/usr/sbin/" name, \
                        "/usr/bin/" name, "/sbin/" name                             \
        }

static const struct runtime_row runtimes[] = {
        { "runc", "Install it: apt-get install runc", PLACES("runc") },
        { "crun", "Install it: apt-get install crun. Or write config: {runtime: runc}.",
          PLACES("crun") },
        { "runsc",
          "Install gVisor's runsc in /usr/local/bin, as https://gvisor.dev describes. Or write "
          "config: {runtime: runc}.",
          PLACES("runsc") },
};

static const struct runtime_row *
row_of(const char *name)
{
        for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
                if (strcmp(runtimes[i].name, name) == 0)
                        return &runtimes[i];
        return NULL;
}

const char *
host_container_find(const char *name)
{
        const struct runtime_row *row = row_of(name);

        for (size_t i = 0; row && i < sizeof row->paths / sizeof *row->paths; i++)
                if (access(row->paths[i], X_OK) == 0)
                        return row->paths[i];
        return NULL;
}

const char *
host_container_install(const char *name)
{
        const struct runtime_row *row = row_of(name);

        return row ? row->install : "";
}

const char *
host_container_lacks(const struct host_facts *facts)
{
        if (!host_container_find(HOST_CONTAINER_STANDARD))
                return "this machine has no " HOST_CONTAINER_STANDARD;
        return facts->is_privileged && facts->cgroup.unified[0] == '\0'
                       ? "no writable cgroup v2 hierarchy"
                       : NULL;
}

/* That a container starts is tried by a whole sandbox (cli/trial.c). */
enum attempt_result
attempt_container(struct attempt *a)
{
        static const char mount[] = "mkdir -p /sys/fs/cgroup/unified && mount -t cgroup2 none "
                                    "/sys/fs/cgroup/unified";
        const char *path = host_container_find(HOST_CONTAINER_STANDARD);
        const char *lacks = host_container_lacks(a->facts);

        if (lacks && path)
                memcpy(a->mend, mount, sizeof mount);
        return lacks ? attempt_fails(a, 0, "%s", lacks) : attempt_works(a, "%s", path);
}
