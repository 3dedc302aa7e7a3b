/*
 * plan/refuse.c - refuses a box that would be weaker than its spec says.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 * Theory: invariant one, fail closed (P2). Anything that a host cannot enforce is refused by name
 * before planning, never left out.
 */
#include "plan/refuse.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/below.h"
#include "plan/machine.h"
#include "plan/wall.h"

enum { ENTRY_PATH = 48, PORT_DNS = 53 };

struct need {
        size_t offset;
        const char *name, *what;
};

/* Without one of these a box would be weaker than it says, so it is refused. */
static const struct need needs[] = {
        { offsetof(struct host_facts, has_user_ns), "user_namespaces", "user namespaces" },
        { offsetof(struct host_facts, has_seccomp), "seccomp", "system call filters (seccomp)" },
        { offsetof(struct host_facts, has_mount_api), "mount_api",
          "the mount calls open_tree, move_mount, mount_setattr" },
};

static int
refuse(struct error *e, const char *reason, const char *what)
{
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "", reason,
                      "this machine has no %s, and a sandbox needs them", what);
        error_hint(e,
                   "Run `carrel doctor`: it names what is missing and the command that fixes it.");
        return -1;
}

static int
check_host(const struct host_facts *facts, struct error *e)
{
        for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
                if (!*(const bool *)((const char *)facts + needs[i].offset))
                        return refuse(e, needs[i].name, needs[i].what);
        if (facts->landlock_abi == 0)
                return refuse(e, "landlock", "Landlock rules");
        return 0;
}

static int
place(struct error *e, const struct spec_egress *entry)
{
        e->line = entry->line;
        e->column = entry->column;
        return -1;
}

/*
 * Port 53 inside belongs to the resolver: a connection to a listed host's port 53 would never
 * arrive there.
 */
static int
check_dns(const struct spec *spec, struct error *e)
{
        char path[EGRESS_PATH_ROOM];

        for (size_t i = 0; i < spec->egress_count; i++)
                if (plan_wall_has(spec->egress[i].ports, spec->egress[i].port_count, PORT_DNS)) {
                        (void)fail_at(e, ERROR_EGRESS_UNENFORCEABLE,
                                      egress_path(&spec->egress[i], path), "dns_port",
                                      "port 53 of %.200s cannot be reached from a sandbox: names "
                                      "are answered inside",
                                      spec->egress[i].host);
                        error_hint(e, "Leave the entry out: listed names are resolved anyway.");
                        return place(e, &spec->egress[i]);
                }
        return 0;
}

int
plan_refuse_ports(const struct spec *spec, struct error *e)
{
        char path[EGRESS_PATH_ROOM];
        uint16_t ports[PLAN_WALL_PORTS];
        size_t at;

        if (plan_is_routed(spec) && plan_wall_stock(spec, &at) > WALL_STOCK_MAX) {
                (void)fail_at(e, ERROR_EGRESS_UNENFORCEABLE, egress_path(&spec->egress[at], path),
                              "too_many_ports",
                              "network.egress names more than %d ports from 1024 on, and a routed "
                              "wall holds no more",
                              WALL_STOCK_MAX);
                error_hint(e, spec->wall.is_routed ? "Names may share a port; or leave "
                                                     "metadata.carrel.egress.routed out."
                                                   : "Names may share a port.");
                return place(e, &spec->egress[at]);
        }
        if (plan_wall_ports(spec, ports, &at) <= PLAN_WALL_PORTS)
                return 0;
        (void)fail_at(e, ERROR_EGRESS_UNENFORCEABLE, egress_path(&spec->egress[at], path),
                      "too_many_ports",
                      "network.egress lists more than %d ports below 1024 (80 and 443 not "
                      "counted), which is the maximum",
                      PLAN_WALL_PORTS);
        error_hint(e, "Ports from 1024 on are not counted.");
        return place(e, &spec->egress[at]);
}

static int
check_egress(const struct spec *spec, const struct host_facts *facts, struct error *e)
{
        if (spec->egress_count == 0 && !spec->wall.is_routed)
                return 0;
        if (!facts->has_wall && spec->egress_count == 0) {
                (void)fail_at(
                        e, ERROR_EGRESS_UNENFORCEABLE, "metadata/carrel/egress/routed", "no_wall",
                        "this machine cannot make a wall, routed or not: its kernel has no IPv6");
                error_hint(e, "Run `carrel doctor`: it tries the wall. Without "
                              "metadata.carrel.egress there is no network at all.");
                return -1;
        }
        if (!facts->has_wall) {
                (void)fail_at(e, ERROR_EGRESS_UNENFORCEABLE, "network/egress", "no_wall",
                              "network.egress names %zu destination%s, and this machine cannot "
                              "hold a sandbox to a list: its kernel has no IPv6",
                              spec->egress_count, spec->egress_count == 1 ? "" : "s");
                error_hint(e, "Run `carrel doctor`: it tries the wall. The list can be left empty: "
                              "then there is no network at all.");
                return place(e, &spec->egress[0]);
        }
        return plan_refuse_ports(spec, e) < 0 ? -1 : check_dns(spec, e);
}

/* A mount over a path that the box itself needs would leave no program to run. */
static int
check_mounts(const struct host_facts *facts, const struct plan_request *request, struct error *e)
{
        for (size_t i = 0; i < request->mount_count; i++) {
                const char *at = request->mounts[i].at,
                           *hidden = path_below("/etc", at) ? "/etc" : NULL;
                char path[32];

                for (size_t d = 0; d < facts->dir_count && !hidden; d++)
                        hidden = path_below(facts->dirs[d].path, at) ? facts->dirs[d].path : NULL;
                if (!hidden && path_below(PLAN_HOME, at) && strcmp(at, PLAN_HOME) != 0)
                        hidden = PLAN_HOME;
                if (!hidden)
                        continue;
                (void)snprintf(path, sizeof path, "mounts/%zu/at", i);
                (void)fail_at(e, ERROR_MOUNT_INVALID,
                              request->mounts[i].is_tool ? "metadata/carrel/tools" : path,
                              "reserved",
                              "a mount at %.200s would hide %s, which every sandbox is made of", at,
                              hidden);
                error_hint(e,
                           "Mount at a path of its own, such as /workspace or /mnt/data; what lies "
                           "in %s is there already.",
                           hidden);
                return -1;
        }
        return 0;
}

/* A disk that was requested by name is not replaced by memory. */
static int
check_image(const struct spec *spec, const struct plan_request *request, struct error *e)
{
        static const char *const places[] = { [SPEC_DISK_DISK] = "on a disk",
                                              [SPEC_DISK_IMAGE] = "on an image",
                                              [SPEC_DISK_DIRECTORY] = "in a private directory" };
        static const char *const rules[] = { [SPEC_DISK_DISK] = "no_disk",
                                             [SPEC_DISK_IMAGE] = "no_image",
                                             [SPEC_DISK_DIRECTORY] = "no_directory" };
        enum spec_disk disk = spec->carrel.disk;

        if (disk == SPEC_DISK_AUTO || disk == SPEC_DISK_MEMORY || request->has_image)
                return 0;
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "metadata/carrel/disk", rules[disk],
                      "/tmp and the home cannot be stored %s: %s", places[disk],
                      request->why_no_image ? request->why_no_image : "this machine makes none");
        error_hint(e,
                   disk == SPEC_DISK_DISK
                           ? "Write `disk: auto` (memory if no disk can be used) or leave it out."
                           : "Write `disk: disk` (an image, otherwise a directory) or "
                             "`disk: auto` (memory if no disk can be used).");
        return -1;
}

static int
refuse_container(struct error *e, const char *reason, const char *what, const char *hint)
{
        (void)fail_at(e, ERROR_CAPABILITY_UNAVAILABLE, "provider", reason,
                      "the container runtime cannot be used: %s", what);
        error_hint(e, "%s", hint);
        return -1;
}

/*
 * The container is in a v2 group of ours. An ordinary user who has none is held by a pid namespace,
 * and warned of each limit.
 */
static int
check_container(const struct host_facts *facts, const struct plan_request *request, struct error *e)
{
        static const char root[] = "/sys/fs/cgroup";

        if (!request->container)
                return 0;
        if (!facts->is_privileged && facts->cgroup.unified[0] == '\0')
                return 0;
        if (facts->cgroup.unified[0] == '\0' ||
            strncmp(facts->cgroup.unified, root, sizeof root - 1) != 0)
                return refuse_container(e, "no_unified",
                                        "no writable cgroup v2 hierarchy is below /sys/fs/cgroup",
                                        "Mount one: mkdir -p /sys/fs/cgroup/unified && mount -t "
                                        "cgroup2 none /sys/fs/cgroup/unified");
        return 0;
}

int
plan_refuse(const struct spec *spec, const struct host_facts *facts,
            const struct plan_request *request, struct error *e)
{
        return check_container(facts, request, e) < 0 ||
                               plan_refuse_machine(spec, facts, request, e) < 0 ||
                               check_egress(spec, facts, e) < 0 || check_host(facts, e) < 0 ||
                               check_mounts(facts, request, e) < 0 ||
                               check_image(spec, request, e) < 0
                       ? -1
                       : 0;
}
