/*
 * host/attempt_cgroup.c - the doctor tries control groups: creates one, sets a limit, reads it
 * back, removes it.
 *
 * Room: host (acting). Touches: directories named carrel-doctor-PID in the places that the facts
 * name, and during the attempt cgroup.subtree_control there; both are restored.
 * Knows each limit's file in v1 and v2. Knows nothing of tiers.
 * Theory: a limit counts as working if the kernel returns the number that was written, in a group
 * like a sandbox's.
 */
#include "host/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/cgroups.h"

enum { PATH_ROOM = FACTS_PATH_MAX + 64 };

/* The group for this attempt, and the changes made to create it. */
struct group {
        char dir[PATH_ROOM];
        char leaf[PATH_ROOM]; /* the leaf this process moved to, "" if it did not move */
        const struct cgroup_facts *facts;
        bool is_enabled_by_us[4];
        const char *controller; /* v2: to enable, NULL for none */
};

static int
write_in(const char *dir, const char *name, const char *text)
{
        char path[PATH_ROOM + 64];

        (void)snprintf(path, sizeof path, "%s/%s", dir, name);
        return attempt_write(path, text);
}

static int
read_in(const char *dir, const char *name, char *buf, size_t room)
{
        char path[PATH_ROOM + 64];

        (void)snprintf(path, sizeof path, "%s/%s", dir, name);
        return attempt_read(path, buf, room);
}

/* Removes a group. Its last process may still be exiting, so the removal is tried a few times. */
static void
dir_remove(const char *dir)
{
        for (unsigned tries = 0; dir[0] && rmdir(dir) < 0 && errno == EBUSY && tries < 200; tries++)
                (void)usleep(1000);
}

static int
move_both(const char *dir)
{
        char pid[32];

        (void)snprintf(pid, sizeof pid, "%d", (int)getppid());
        if (write_in(dir, "cgroup.procs", "0") < 0)
                return -1;
        return write_in(dir, "cgroup.procs", pid);
}

/* Moves this child and the waiting doctor to a leaf, as a sandbox's maker must. */
static int
leave(struct group *g)
{
        (void)snprintf(g->leaf, sizeof g->leaf, "%s/carrel-doctor-leaf-%d", g->facts->unified,
                       (int)getpid());
        if (mkdir(g->leaf, 0755) < 0) {
                g->leaf[0] = '\0';
                return -1;
        }
        return move_both(g->leaf);
}

static int
enable(struct group *g)
{
        char text[64], before[256];

        for (size_t i = 0; g->controller && i < g->facts->enable_count; i++) {
                (void)snprintf(text, sizeof text, "+%s", g->controller);
                before[0] = '\0';
                (void)read_in(g->facts->enable[i], "cgroup.subtree_control", before, sizeof before);
                if (write_in(g->facts->enable[i], "cgroup.subtree_control", text) < 0)
                        return -1;
                g->is_enabled_by_us[i] = strstr(before, g->controller) == NULL;
        }
        return 0;
}

static void
group_close(struct group *g)
{
        char text[64];

        dir_remove(g->dir);
        (void)snprintf(text, sizeof text, "-%s", g->controller ? g->controller : "");
        for (size_t i = g->facts->enable_count; i-- > 0;)
                if (g->is_enabled_by_us[i])
                        (void)write_in(g->facts->enable[i], "cgroup.subtree_control", text);
        if (g->leaf[0]) {
                (void)move_both(g->facts->unified);
                dir_remove(g->leaf);
        }
}

/* Creates a group below `parent`; on failure everything is restored and errno gives the reason. */
static int
group_open(struct group *g, const struct cgroup_facts *facts, const char *parent,
           const char *controller)
{
        int sys;

        *g = (struct group){ .facts = facts, .controller = controller };
        if ((controller && facts->must_leave && leave(g) < 0) || enable(g) < 0)
                goto undo;
        (void)snprintf(g->dir, sizeof g->dir, "%s/carrel-doctor-%d", parent, (int)getpid());
        if (mkdir(g->dir, 0755) == 0)
                return 0;
        sys = errno;
        g->dir[0] = '\0';
        errno = sys;
undo:
        sys = errno;
        group_close(g);
        errno = sys;
        return -1;
}

void
attempt_cgroup_collect(const struct cgroup_facts *facts, long pid)
{
        char dir[PATH_ROOM];

        for (unsigned i = 0; i < CGROUP_CONTROLLER_MAX; i++) {
                if (facts->place[i].version == 0)
                        continue;
                (void)snprintf(dir, sizeof dir, "%s/carrel-doctor-%ld", facts->place[i].parent,
                               pid);
                dir_remove(dir);
        }
        if (facts->unified[0]) {
                (void)snprintf(dir, sizeof dir, "%s/carrel-doctor-%ld", facts->unified, pid);
                dir_remove(dir);
        }
}

/* One limit: the file in each version, what to write, and the expected content afterwards. */
struct limit {
        enum cgroup_controller controller;
        const char *v1_file, *v1_text, *v1_expect;
        const char *v2_file, *v2_text, *v2_expect;
};

static const struct limit memory_limit = { CGROUP_MEMORY, "memory.limit_in_bytes",
                                           "67108864",    "67108864",
                                           "memory.max",  "67108864",
                                           "67108864" };
static const struct limit pids_limit = {
        CGROUP_PIDS, "pids.max", "32", "32", "pids.max", "32", "32"
};
static const struct limit cpu_limit = { CGROUP_CPU, "cpu.cfs_quota_us", "50000",       "50000",
                                        "cpu.max",  "50000 100000",     "50000 100000" };

static enum attempt_result
not_to_be_had(struct attempt *a, const char *name)
{
        const struct cgroup_facts *facts = &a->facts->cgroup;

        if (facts->why_none) {
                (void)snprintf(a->mend, sizeof a->mend, "%s", facts->why_none);
                return attempt_fails(a, 0, "no control group can limit here");
        }
        return attempt_fails(a, 0, "the %s controller is not available to us", name);
}

static enum attempt_result
limit_set(struct attempt *a, const struct group *g, const char *file, const char *text,
          const char *expect)
{
        char got[256];

        if (write_in(g->dir, file, text) < 0)
                return attempt_fails(a, errno, "%s cannot be set", file);
        if (read_in(g->dir, file, got, sizeof got) < 0)
                return attempt_fails(a, errno, "%s cannot be read back", file);
        if (strstr(got, expect) == NULL)
                return attempt_fails(a, 0, "%s was set but does not hold", file);
        return ATTEMPT_WORKS;
}

static enum attempt_result
limit_try(struct attempt *a, const struct limit *limit)
{
        const struct cgroup_place *place = &a->facts->cgroup.place[limit->controller];
        const char *name = cgroup_controller_name(limit->controller);
        bool is_v2 = place->version == 2;
        enum attempt_result r;
        struct group g;

        if (place->version == 0)
                return not_to_be_had(a, name);
        if (group_open(&g, &a->facts->cgroup, place->parent, is_v2 ? name : NULL) < 0)
                return attempt_fails(a, errno, "no group can be made in %.150s", place->parent);
        r = limit_set(a, &g, is_v2 ? limit->v2_file : limit->v1_file,
                      is_v2 ? limit->v2_text : limit->v1_text,
                      is_v2 ? limit->v2_expect : limit->v1_expect);
        group_close(&g);
        if (r != ATTEMPT_WORKS)
                return r;
        return attempt_works(a, "set and read back, cgroup v%d in %.180s", place->version,
                             place->parent);
}

enum attempt_result
attempt_memory(struct attempt *a)
{
        return limit_try(a, &memory_limit);
}

enum attempt_result
attempt_pids(struct attempt *a)
{
        return limit_try(a, &pids_limit);
}

enum attempt_result
attempt_cpu(struct attempt *a)
{
        return limit_try(a, &cpu_limit);
}

enum attempt_result
attempt_swap(struct attempt *a)
{
        const struct cgroup_place *place = &a->facts->cgroup.place[CGROUP_MEMORY];
        enum attempt_result r;
        struct group g;

        if (place->version == 0)
                return not_to_be_had(a, "memory");
        if (group_open(&g, &a->facts->cgroup, place->parent,
                       place->version == 2 ? "memory" : NULL) < 0)
                return attempt_fails(a, errno, "no group can be made in %.150s", place->parent);
        if (place->version == 2) {
                r = limit_set(a, &g, "memory.swap.max", "0", "0");
        } else {
                r = limit_set(a, &g, "memory.limit_in_bytes", "67108864", "67108864");
                if (r == ATTEMPT_WORKS)
                        r = limit_set(a, &g, "memory.memsw.limit_in_bytes", "67108864", "67108864");
        }
        group_close(&g);
        return r == ATTEMPT_WORKS ? attempt_works(a, "set and read back") : r;
}

/* The whole disk of the working directory as MAJOR:MINOR; limits are refused on a partition. */
static bool
disk_find(char *ret, size_t room)
{
        char path[128];
        struct stat st;
        unsigned disk_major, disk_minor;

        if (stat(".", &st) < 0 || major(st.st_dev) == 0)
                return false;
        (void)snprintf(ret, room, "%u:%u", major(st.st_dev), minor(st.st_dev));
        (void)snprintf(path, sizeof path, "/sys/dev/block/%s/partition", ret);
        if (access(path, F_OK) < 0)
                return true;
        (void)snprintf(path, sizeof path, "/sys/dev/block/%s/../dev", ret);
        if (attempt_read(path, ret, room) <= 0 ||
            sscanf(ret, "%u:%u", &disk_major, &disk_minor) != 2)
                return false;
        (void)snprintf(ret, room, "%u:%u", disk_major, disk_minor);
        return true;
}

enum attempt_result
attempt_io(struct attempt *a)
{
        char disk[64], v1_text[96], v2_text[96];
        struct limit limit = { CGROUP_IO,     "blkio.throttle.write_bps_device",
                               v1_text,       "1048576",
                               "io.max",      v2_text,
                               "wbps=1048576" };

        if (a->facts->cgroup.place[CGROUP_IO].version == 0)
                return not_to_be_had(a, "io");
        if (!disk_find(disk, sizeof disk)) {
                (void)snprintf(a->mend, sizeof a->mend,
                               "keep the workspace on one local disk (ext4 or xfs): btrfs, "
                               "overlay, tmpfs and network filesystems have none to limit");
                return attempt_fails(
                        a, 0, "the working directory's filesystem has no single disk behind it");
        }
        (void)snprintf(v1_text, sizeof v1_text, "%s 1048576", disk);
        (void)snprintf(v2_text, sizeof v2_text, "%s wbps=1048576", disk);
        return limit_try(a, &limit);
}

enum attempt_result
attempt_cpu_time(struct attempt *a)
{
        const struct cgroup_place *place = &a->facts->cgroup.place[CGROUP_CPUACCT];
        const char *file = place->version == 2 ? "cpu.stat" : "cpuacct.usage";
        char text[512];
        struct group g;
        int len;

        if (place->version == 0)
                return not_to_be_had(a, "cpuacct");
        if (group_open(&g, &a->facts->cgroup, place->parent, NULL) < 0)
                return attempt_fails(a, errno, "no group can be made in %.150s", place->parent);
        len = read_in(g.dir, file, text, sizeof text);
        group_close(&g);
        if (len <= 0 || (place->version == 2 && !strstr(text, "usage_usec")))
                return attempt_fails(a, 0, "%s does not say what was used", file);
        return attempt_works(a, "%s counts, cgroup v%d", file, place->version);
}

/* Puts a process that waits forever into the group and kills the group. */
static enum attempt_result
kill_try(struct attempt *a, const struct group *g)
{
        int status = 0, sys = 0;
        pid_t pid = fork();

        if (pid < 0)
                return attempt_fails(a, errno, "no process to kill");
        if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (;;)
                        (void)pause();
        }
        {
                char text[32];

                (void)snprintf(text, sizeof text, "%d", (int)pid);
                if (write_in(g->dir, "cgroup.procs", text) < 0 ||
                    write_in(g->dir, "cgroup.kill", "1") < 0) {
                        sys = errno;
                        (void)kill(pid, SIGTERM);
                }
        }
        (void)waitpid(pid, &status, 0);
        if (sys)
                return attempt_fails(a, sys, "a group cannot be killed as one");
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
                return attempt_fails(a, 0, "the group was killed but its process went on");
        return attempt_works(a, "a whole group dies at once");
}

enum attempt_result
attempt_cgroup_kill(struct attempt *a)
{
        const struct cgroup_facts *facts = &a->facts->cgroup;
        enum attempt_result r;
        struct group g;

        if (facts->unified[0] == '\0')
                return attempt_fails(a, 0, "no cgroup v2 group can be made");
        if (group_open(&g, facts, facts->unified, NULL) < 0)
                return attempt_fails(a, errno, "no group can be made in %.150s", facts->unified);
        r = kill_try(a, &g);
        group_close(&g);
        return r;
}
