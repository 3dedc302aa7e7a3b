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

/* That a container starts is tried by a whole sandbox (cli/trial.c). */
enum attempt_result
attempt_container(struct attempt *a)
{
        const char *path = host_container_find(HOST_CONTAINER_STANDARD);

        if (!path)
                return attempt_fails(a, 0, "this machine has no %s", HOST_CONTAINER_STANDARD);
        if (!a->facts->is_privileged) {
                static const char sudo[] = "sudo carrel doctor";

                memcpy(a->mend, sudo, sizeof sudo);
                return attempt_fails(a, 0, "%s is there, but only root can start it", path);
        }
        if (a->facts->cgroup.unified[0] == '\0') {
                static const char mount[] = "mkdir -p /sys/fs/cgroup/unified && mount -t cgroup2 "
                                            "none /sys/fs/cgroup/unified";

                memcpy(a->mend, mount, sizeof mount);
                return attempt_fails(a, 0, "no writable cgroup v2 hierarchy");
        }
        return attempt_works(a, "%s", path);
}
