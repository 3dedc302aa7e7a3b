/*
 * host/cgroups_test.c - what host/cgroups.h promises, with one row for each layout of a real
 * system.
 *
 * A world is a list of lines. "r PATH" exists. "w PATH" exists and is writable. "c PATH TEXT" is a
 * file that contains TEXT and a newline, or no bytes if TEXT is missing. This process has pid 77.
 */
#include "base/unit.h"
#include "host/cgroups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct layout {
        const char *name;
        bool is_root;
        unsigned release;
        const char *cgroup, *mountinfo, *world;
        const char *expected; /* in the format of render() */
};

#define V1(number, point, options)                          \
#number " 31 0:" #number " / /sys/fs/cgroup/" point \
                " rw,relatime - cgroup cgroup rw," options "\n"
#define V2_ROOT                                                                                   \
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 " \
        "rw,nsdelegate\n"
#define NOISE                                                                               \
        "22 27 0:21 / /proc rw,relatime - proc proc rw\n27 1 254:0 / / rw,relatime - ext4 " \
        "/dev/vda rw\n"
#define ALL "cpuset cpu io memory hugetlb pids"

static const struct layout layouts[] = {
        { "hybrid, root, memory nested, cpu without a quota", true, 6018,
          "9:name=systemd:/\n8:pids:/\n7:blkio:/\n6:freezer:/\n5:devices:/\n4:memory:/api/"
          "89\n3:cpuset:/\n2:cpuacct:/\n1:cpu:/\n0::/\n",
          NOISE V1(32, "cpu", "cpu") V1(33, "cpuacct", "cpuacct") V1(35, "memory", "memory")
                  V1(37, "freezer", "freezer") V1(38, "blkio", "blkio") V1(39, "pids", "pids")
                          V1(40, "systemd", "name=systemd") "41 31 0:38 / /sys/fs/cgroup/unified "
                                                            "rw,relatime - cgroup2 cgroup2 rw\n",
          "w /sys/fs/cgroup/cpu\nr /sys/fs/cgroup/cpu/cpu.shares\nw /sys/fs/cgroup/cpuacct\n"
          "w /sys/fs/cgroup/memory\nw /sys/fs/cgroup/memory/api/89\nr "
          "/sys/fs/cgroup/memory/api/89/memory.limit_in_bytes\n"
          "r /sys/fs/cgroup/memory/api/89/memory.memsw.limit_in_bytes\nr "
          "/sys/fs/cgroup/memory/api/89/memory.kmem.tcp.limit_in_bytes\nw "
          "/sys/fs/cgroup/freezer\nw /sys/fs/cgroup/blkio\n"
          "r /sys/fs/cgroup/blkio/blkio.throttle.write_bps_device\nw /sys/fs/cgroup/pids\nw "
          "/sys/fs/cgroup/unified\n"
          "w /sys/fs/cgroup/unified/cgroup.procs\nc /sys/fs/cgroup/unified/cgroup.controllers "
          "hugetlb\n"
          "c /sys/fs/cgroup/unified/cgroup.subtree_control\n",
          "memory 1 /sys/fs/cgroup/memory/api/89 swap sockets\npids 1 /sys/fs/cgroup/pids\ncpu 1 "
          "/sys/fs/cgroup/cpu limited\n"
          "io 1 /sys/fs/cgroup/blkio\ncpuacct 2 /sys/fs/cgroup/unified\nunified "
          "/sys/fs/cgroup/unified kill freeze\n"
          "freezer /sys/fs/cgroup/freezer\n" },
        { "v1 only, co-mounted controllers under a link's name", true, 4019,
          "5:cpu,cpuacct:/user.slice\n4:memory:/user.slice\n3:pids:/user.slice\n2:blkio:/"
          "user.slice\n1:name=systemd:/user.slice\n",
          V1(32, "cpu,cpuacct", "cpu,cpuacct") V1(33, "memory", "memory") V1(34, "pids", "pids")
                  V1(35, "blkio", "blkio"),
          "w /sys/fs/cgroup/cpu,cpuacct/user.slice\nr "
          "/sys/fs/cgroup/cpu,cpuacct/user.slice/cpu.cfs_quota_us\n"
          "w /sys/fs/cgroup/memory/user.slice\nr "
          "/sys/fs/cgroup/memory/user.slice/memory.limit_in_bytes\n"
          "w /sys/fs/cgroup/pids/user.slice\nw /sys/fs/cgroup/blkio/user.slice\n",
          "memory 1 /sys/fs/cgroup/memory/user.slice\npids 1 /sys/fs/cgroup/pids/user.slice\n"
          "cpu 1 /sys/fs/cgroup/cpu,cpuacct/user.slice\nio 1 /sys/fs/cgroup/blkio/user.slice "
          "limited\n"
          "cpuacct 1 /sys/fs/cgroup/cpu,cpuacct/user.slice\n" },
        { "v1, a rootless user: nothing is writable", false, 5010,
          "5:cpu,cpuacct:/\n4:memory:/\n3:pids:/\n1:name=systemd:/user.slice\n",
          V1(32, "cpu,cpuacct", "cpu,cpuacct") V1(33, "memory", "memory") V1(34, "pids", "pids"),
          "r /sys/fs/cgroup/cpu,cpuacct\nr /sys/fs/cgroup/memory\nr /sys/fs/cgroup/pids\n",
          "none: control groups are v1 here and belong to root\n" },
        { "v1, a controller that is listed but not mounted", true, 5010, "4:memory:/\n3:pids:/\n",
          V1(33, "memory", "memory"),
          "w /sys/fs/cgroup/memory\nr /sys/fs/cgroup/memory/memory.limit_in_bytes\n",
          "memory 1 /sys/fs/cgroup/memory\n" },
        { "v2, root in a login session: the real root serves, nothing to enable", true, 6001,
          "0::/user.slice/user-0.slice/session-1.scope\n", NOISE V2_ROOT,
          "w /sys/fs/cgroup\nw /sys/fs/cgroup/cgroup.procs\nc "
          "/sys/fs/cgroup/cgroup.controllers " ALL "\n"
          "c /sys/fs/cgroup/cgroup.subtree_control " ALL
          "\nr /sys/fs/cgroup/user.slice/user-0.slice/session-1.scope\n"
          "r /sys/fs/cgroup/user.slice/user-0.slice/session-1.scope/cgroup.events\n"
          "r /sys/fs/cgroup/user.slice/user-0.slice/session-1.scope/cgroup.kill\n"
          "r /sys/fs/cgroup/user.slice/user-0.slice/session-1.scope/cgroup.freeze\n"
          "r /sys/fs/cgroup/system.slice/memory.current\nr /sys/fs/cgroup/system.slice/memory.max\n"
          "r /sys/fs/cgroup/system.slice/memory.swap.max\n",
          "memory 2 /sys/fs/cgroup swap\npids 2 /sys/fs/cgroup\ncpu 2 /sys/fs/cgroup\nio 2 "
          "/sys/fs/cgroup\n"
          "cpuacct 2 /sys/fs/cgroup\nunified /sys/fs/cgroup kill freeze\n" },
        { "v2, root right after boot: controllers must be enabled at the root, we may stay in it",
          true, 5010, "0::/\n", V2_ROOT,
          "w /sys/fs/cgroup\nw /sys/fs/cgroup/cgroup.procs\nc "
          "/sys/fs/cgroup/cgroup.controllers " ALL "\n"
          "c /sys/fs/cgroup/cgroup.subtree_control\nc /sys/fs/cgroup/cgroup.procs 1\n",
          "memory 2 /sys/fs/cgroup\npids 2 /sys/fs/cgroup\ncpu 2 /sys/fs/cgroup\nio 2 "
          "/sys/fs/cgroup\n"
          "cpuacct 2 /sys/fs/cgroup\nunified /sys/fs/cgroup freeze\nenable /sys/fs/cgroup\n" },
        { "v2, root, and somebody made a directory for us", true, 6001, "0::/\n", V2_ROOT,
          "w /sys/fs/cgroup\nw /sys/fs/cgroup/cgroup.procs\nc /sys/fs/cgroup/cgroup.controllers "
          "memory pids\n"
          "c /sys/fs/cgroup/cgroup.subtree_control\nw /sys/fs/cgroup/carrel\nc "
          "/sys/fs/cgroup/carrel/cgroup.type domain\n"
          "w /sys/fs/cgroup/carrel/cgroup.procs\nc /sys/fs/cgroup/carrel/cgroup.procs\n"
          "c /sys/fs/cgroup/carrel/cgroup.subtree_control\n",
          "memory 2 /sys/fs/cgroup/carrel\npids 2 /sys/fs/cgroup/carrel\ncpuacct 2 "
          "/sys/fs/cgroup/carrel\n"
          "unified /sys/fs/cgroup/carrel kill freeze\nenable /sys/fs/cgroup\nenable "
          "/sys/fs/cgroup/carrel\n" },
        { "v2, rootless in a login session: the scope is not ours", false, 6001,
          "0::/user.slice/user-1000.slice/session-2.scope\n", V2_ROOT,
          "r /sys/fs/cgroup\nc /sys/fs/cgroup/cgroup.controllers " ALL
          "\nr /sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope\n"
          "w /sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service\n",
          "none: our control group belongs to another user\n" },
        { "v2, rootless, alone in a delegated scope: leave it first", false, 6001,
          "0::/user.slice/user@1000.service/app.slice/run-1.scope\n", V2_ROOT,
          "w /sys/fs/cgroup/user.slice/user@1000.service/app.slice/run-1.scope\n"
          "w /sys/fs/cgroup/user.slice/user@1000.service/app.slice/run-1.scope/cgroup.procs\n"
          "c /sys/fs/cgroup/user.slice/user@1000.service/app.slice/run-1.scope/cgroup.procs 77\n"
          "c /sys/fs/cgroup/user.slice/user@1000.service/app.slice/run-1.scope/cgroup.type domain\n"
          "r /sys/fs/cgroup/cgroup.type-is-absent\n"
          "c /sys/fs/cgroup/user.slice/user@1000.service/app.slice/run-1.scope/cgroup.controllers "
          "memory pids\n"
          "c "
          "/sys/fs/cgroup/user.slice/user@1000.service/app.slice/run-1.scope/"
          "cgroup.subtree_control\n",
          "memory 2 /sys/fs/cgroup/user.slice/user@1000.service/app.slice/run-1.scope\n"
          "pids 2 /sys/fs/cgroup/user.slice/user@1000.service/app.slice/run-1.scope\n"
          "cpuacct 2 /sys/fs/cgroup/user.slice/user@1000.service/app.slice/run-1.scope\n"
          "unified /sys/fs/cgroup/user.slice/user@1000.service/app.slice/run-1.scope kill freeze\n"
          "enable /sys/fs/cgroup/user.slice/user@1000.service/app.slice/run-1.scope\nleave\n" },
        { "v2, rootless, a shell shares our scope: the slice above hands out limits already", false,
          6001, "0::/u/app.slice/term.scope\n", V2_ROOT,
          "w /sys/fs/cgroup/u/app.slice/term.scope\nw "
          "/sys/fs/cgroup/u/app.slice/term.scope/cgroup.procs\n"
          "c /sys/fs/cgroup/u/app.slice/term.scope/cgroup.procs 76\n77\n"
          "c /sys/fs/cgroup/u/app.slice/term.scope/cgroup.controllers memory pids\n"
          "c /sys/fs/cgroup/u/app.slice/term.scope/cgroup.subtree_control\n"
          "w /sys/fs/cgroup/u/app.slice\nw /sys/fs/cgroup/u/app.slice/cgroup.procs\nc "
          "/sys/fs/cgroup/u/app.slice/cgroup.procs\n"
          "c /sys/fs/cgroup/u/app.slice/cgroup.controllers cpu memory pids\n"
          "c /sys/fs/cgroup/u/app.slice/cgroup.subtree_control cpu memory pids\n",
          "memory 2 /sys/fs/cgroup/u/app.slice\npids 2 /sys/fs/cgroup/u/app.slice\ncpu 2 "
          "/sys/fs/cgroup/u/app.slice\n"
          "cpuacct 2 /sys/fs/cgroup/u/app.slice\nunified /sys/fs/cgroup/u/app.slice kill "
          "freeze\n" },
        { "v2, rootless, others share our group and nothing above is ours: kill and freeze only",
          false, 6001, "0::/svc\n", V2_ROOT,
          "w /sys/fs/cgroup/svc\nw /sys/fs/cgroup/svc/cgroup.procs\nc "
          "/sys/fs/cgroup/svc/cgroup.procs 5\n"
          "c /sys/fs/cgroup/svc/cgroup.controllers memory pids\nc "
          "/sys/fs/cgroup/svc/cgroup.subtree_control\n",
          "cpuacct 2 /sys/fs/cgroup/svc\nunified /sys/fs/cgroup/svc kill freeze\n"
          "none: other processes share our control group\n" },
        { "v2, rootless, alone in the leaf of our unit: the unit hands out limits, and the leaf "
          "never does",
          false, 6001, "0::/u/carrel.service/carrel-runtime\n", V2_ROOT,
          "w /sys/fs/cgroup/u/carrel.service/carrel-runtime\nw "
          "/sys/fs/cgroup/u/carrel.service/carrel-runtime/cgroup.procs\n"
          "c /sys/fs/cgroup/u/carrel.service/carrel-runtime/cgroup.procs 77\n"
          "c /sys/fs/cgroup/u/carrel.service/carrel-runtime/cgroup.controllers memory pids\n"
          "c /sys/fs/cgroup/u/carrel.service/carrel-runtime/cgroup.subtree_control\n"
          "w /sys/fs/cgroup/u/carrel.service\nw /sys/fs/cgroup/u/carrel.service/cgroup.procs\nc "
          "/sys/fs/cgroup/u/carrel.service/cgroup.procs\n"
          "c /sys/fs/cgroup/u/carrel.service/cgroup.controllers memory pids\n"
          "c /sys/fs/cgroup/u/carrel.service/cgroup.subtree_control memory pids\n",
          "memory 2 /sys/fs/cgroup/u/carrel.service\npids 2 /sys/fs/cgroup/u/carrel.service\n"
          "cpuacct 2 /sys/fs/cgroup/u/carrel.service\nunified /sys/fs/cgroup/u/carrel.service kill "
          "freeze\n" },
        { "v2 in a container with a namespace of its own, read-only", true, 6001, "0::/\n",
          "30 23 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n",
          "r /sys/fs/cgroup\nc /sys/fs/cgroup/cgroup.type domain\nc "
          "/sys/fs/cgroup/cgroup.controllers " ALL "\n",
          "none: the cgroup mounts are read-only\n" },
        { "v2 in a container, writable, we are its only process", true, 6001, "0::/\n", V2_ROOT,
          "w /sys/fs/cgroup\nw /sys/fs/cgroup/cgroup.procs\nc /sys/fs/cgroup/cgroup.procs 77\n"
          "c /sys/fs/cgroup/cgroup.type domain\nc /sys/fs/cgroup/cgroup.controllers memory pids\n"
          "c /sys/fs/cgroup/cgroup.subtree_control\nr /sys/fs/cgroup/cgroup.events\nr "
          "/sys/fs/cgroup/cgroup.freeze\n",
          "memory 2 /sys/fs/cgroup\npids 2 /sys/fs/cgroup\ncpuacct 2 /sys/fs/cgroup\nunified "
          "/sys/fs/cgroup freeze\n"
          "enable /sys/fs/cgroup\nleave\n" },
        { "v2 in a container, writable, its init shares the group", true, 6001, "0::/\n", V2_ROOT,
          "w /sys/fs/cgroup\nw /sys/fs/cgroup/cgroup.procs\nc /sys/fs/cgroup/cgroup.procs 1\n77\n"
          "c /sys/fs/cgroup/cgroup.type domain\nc /sys/fs/cgroup/cgroup.controllers memory pids\n"
          "c /sys/fs/cgroup/cgroup.subtree_control\n",
          "cpuacct 2 /sys/fs/cgroup\nunified /sys/fs/cgroup kill freeze\nnone: other processes "
          "share our control group\n" },
        { "v1 in a container that shows only its own part", true, 5010,
          "4:memory:/docker/abc\n3:pids:/docker/abc/below\n",
          "33 31 0:33 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
          "34 31 0:34 /docker/abc /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n",
          "w /sys/fs/cgroup/memory\nr /sys/fs/cgroup/memory/memory.limit_in_bytes\nw "
          "/sys/fs/cgroup/pids/below\n",
          "memory 1 /sys/fs/cgroup/memory\npids 1 /sys/fs/cgroup/pids/below\n" },
        { "a group outside what is mounted gives the mount itself", true, 5010,
          "4:memory:/../other\n3:pids:/docker/abcd\n",
          "33 31 0:33 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
          "34 31 0:34 /docker/abc /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n",
          "w /sys/fs/cgroup/memory\nr /sys/fs/cgroup/memory/memory.limit_in_bytes\nw "
          "/sys/fs/cgroup/pids\n",
          "memory 1 /sys/fs/cgroup/memory\npids 1 /sys/fs/cgroup/pids\n" },
        { "v1, our own group is not to be seen where it should be", true, 5010, "4:memory:/gone\n",
          V1(33, "memory", "memory"),
          "w /sys/fs/cgroup/memory\nr /sys/fs/cgroup/memory/memory.limit_in_bytes\n",
          "memory 1 /sys/fs/cgroup/memory\n" },
        { "mount points with blanks, optional fields, a second mount that shows more", true, 5010,
          "4:memory:/box\n",
          "33 31 0:33 /elsewhere /mnt/part rw shared:3 master:1 - cgroup cgroup rw,memory\n"
          "34 31 0:33 / /mnt/my\\040groups rw shared:3 master:1 - cgroup cgroup rw,memory\n",
          "w /mnt/part\nw /mnt/my groups/box\nr /mnt/my groups/box/memory.limit_in_bytes\n",
          "memory 1 /mnt/my groups/box\n" },
        { "v2, memory and pids there, the rest still on v1", true, 6001, "5:cpu,cpuacct:/\n0::/\n",
          V1(32, "cpu,cpuacct",
             "cpu,cpuacct") "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
          "w /sys/fs/cgroup/cpu,cpuacct\nr /sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us\nw "
          "/sys/fs/cgroup/unified\n"
          "w /sys/fs/cgroup/unified/cgroup.procs\nc /sys/fs/cgroup/unified/cgroup.controllers "
          "memory pids\n"
          "c /sys/fs/cgroup/unified/cgroup.subtree_control memory\n",
          "memory 2 /sys/fs/cgroup/unified\npids 2 /sys/fs/cgroup/unified\ncpu 1 "
          "/sys/fs/cgroup/cpu,cpuacct\n"
          "cpuacct 2 /sys/fs/cgroup/unified\nunified /sys/fs/cgroup/unified kill freeze\nenable "
          "/sys/fs/cgroup/unified\n" },
        { "v2, a threaded group cannot hold ours", false, 6001, "0::/t\n", V2_ROOT,
          "w /sys/fs/cgroup/t\nw /sys/fs/cgroup/t/cgroup.procs\nc /sys/fs/cgroup/t/cgroup.type "
          "threaded\n"
          "c /sys/fs/cgroup/t/cgroup.controllers pids\nc /sys/fs/cgroup/t/cgroup.subtree_control "
          "pids\n",
          "none: our control group belongs to another user\n" },
        { "v2, cpu shared out but without a hard quota", true, 6001, "0::/\n", V2_ROOT,
          "w /sys/fs/cgroup\nw /sys/fs/cgroup/cgroup.procs\nc /sys/fs/cgroup/cgroup.controllers "
          "cpu\n"
          "c /sys/fs/cgroup/cgroup.subtree_control cpu\nr /sys/fs/cgroup/system.slice/cpu.weight\n",
          "cpu 2 /sys/fs/cgroup limited\ncpuacct 2 /sys/fs/cgroup\nunified /sys/fs/cgroup kill "
          "freeze\n" },
        { "no cgroup is mounted at all", true, 6001, "0::/\n", NOISE, "",
          "none: no cgroup hierarchy is mounted\n" },
        { "nonsense in both files", true, 6001, "::\n:\nx\n\n4:memory\n",
          "1 2 3\n - cgroup\n30 23 0:26 / /x rw - cgroup\n\n", "",
          "none: no cgroup hierarchy is mounted\n" },
};

/* -- a world made of lines --------------------------------------------------------------------- */

/* The text after "KIND PATH", or NULL; "" if empty. */
static const char *
world_find(const char *world, char kind, const char *path)
{
        size_t len = strlen(path);

        for (const char *line = world; line && *line; line = strchr(line, '\n')) {
                if (*line == '\n')
                        line++;
                if (line[0] == kind && line[1] == ' ' && strncmp(line + 2, path, len) == 0 &&
                    (line[2 + len] == '\n' || (kind == 'c' && line[2 + len] == ' ')))
                        return line + 2 + len;
        }
        return NULL;
}

/* A directory exists if a line names it or a path below it. */
static bool
world_exists(void *data, const char *path)
{
        const struct layout *l = data;
        size_t len = strlen(path);

        for (const char *at = strstr(l->world, path); at; at = strstr(at + 1, path))
                if (at > l->world + 1 && at[-1] == ' ' &&
                    (at[len] == '\n' || at[len] == '/' || at[len] == ' '))
                        return true;
        return false;
}

static bool
world_is_writable(void *data, const char *path)
{
        return world_find(((const struct layout *)data)->world, 'w', path) != NULL;
}

static int
world_read(void *data, const char *path, char *buf, size_t room)
{
        const char *text = world_find(((const struct layout *)data)->world, 'c', path), *end = text;

        if (!text)
                return -1;
        if (*text == ' ') {
                text++;
                end = strchr(text, '\n') + 1;
                while (*end >= '0' &&
                       *end <= '9') /* cgroup.procs: more numbers are in the next lines */
                        end = strchr(end, '\n') + 1;
        }
        return snprintf(buf, room, "%.*s", (int)(end - text), text);
}

/* -- facts as text ----------------------------------------------------------------------------- */

static void
render(const struct cgroup_facts *f, char *text, size_t room)
{
        FILE *out = fmemopen(text, room, "w");

        if (!out)
                return;
        for (unsigned i = 0; i < CGROUP_CONTROLLER_MAX; i++)
                if (f->place[i].version != 0)
                        fprintf(out, "%s %d %s%s%s%s\n",
                                cgroup_controller_name((enum cgroup_controller)i),
                                f->place[i].version, f->place[i].parent,
                                f->place[i].is_limited ? " limited" : "",
                                f->place[i].is_swap_limited ? " swap" : "",
                                f->place[i].version == 1 && f->place[i].is_socket_limited
                                        ? " sockets"
                                        : "");
        if (f->unified[0])
                fprintf(out, "unified %s%s%s\n", f->unified, f->has_kill ? " kill" : "",
                        f->has_freeze ? " freeze" : "");
        if (f->freezer[0])
                fprintf(out, "freezer %s\n", f->freezer);
        for (size_t i = 0; i < f->enable_count; i++)
                fprintf(out, "enable %s\n", f->enable[i]);
        if (f->must_leave)
                fprintf(out, "leave\n");
        if (f->why_none)
                fprintf(out, "none: %.*s\n", (int)strcspn(f->why_none, ":,"), f->why_none);
        fclose(out);
}

static void
reads_every_layout(void **state)
{
        char text[8192];

        (void)state;
        for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
                const struct layout *l = &layouts[i];
                struct cgroup_probe probe = { .exists = world_exists,
                                              .is_writable = world_is_writable,
                                              .read = world_read,
                                              .data = (void *)(uintptr_t)l,
                                              .is_root = l->is_root,
                                              .release = l->release,
                                              .self_pid = 77 };
                struct cgroup_facts facts;

                memset(text, 0, sizeof text);
                cgroup_facts_parse(&facts, l->cgroup, l->mountinfo, &probe);
                render(&facts, text, sizeof text);
                if (strcmp(text, l->expected) != 0)
                        print_message("# layout: %s\n", l->name);
                assert_string_equal(text, l->expected);
        }
}

/* If a path is longer than facts can hold, the place is absent. It is never cut. */
static void
drops_paths_that_do_not_fit(void **state)
{
        char cgroup[2048] = "4:memory:/", mountinfo[] = V1(33, "memory", "memory");
        struct layout l = { .world = "w /sys/fs/cgroup/memory\n" };
        struct cgroup_probe probe = { .exists = world_exists,
                                      .is_writable = world_is_writable,
                                      .read = world_read,
                                      .data = &l,
                                      .is_root = true,
                                      .self_pid = 77 };
        struct cgroup_facts facts;

        (void)state;
        memset(cgroup + strlen(cgroup), 'x', 1024);
        cgroup_facts_parse(&facts, cgroup, mountinfo, &probe);
        assert_int_equal(facts.place[CGROUP_MEMORY].version, 0);
        assert_non_null(facts.why_none);
}

static void
this_machine_agrees_with_itself(void **state)
{
        struct cgroup_facts facts;
        bool is_any = false;

        (void)state;
        cgroup_facts_read(&facts, 5000);
        for (unsigned i = 0; i < CGROUP_CPUACCT; i++) {
                if (facts.place[i].version == 0)
                        continue;
                is_any = true;
                assert_int_equal(access(facts.place[i].parent, W_OK), 0);
        }
        assert_int_equal(is_any, facts.why_none == NULL);
}

int
main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reads_every_layout),
                cmocka_unit_test(drops_paths_that_do_not_fit),
                cmocka_unit_test(this_machine_agrees_with_itself),
        };

        return cmocka_run_group_tests_name("host/cgroups", tests, NULL, NULL);
}
