/*
 * host/cgroups.c - where this process may create control groups, and what they can limit.
 *
 * Room: host (acting). Touches: files under /proc and the cgroup mounts, reading only.
 * Knows the layouts of cgroup v1, v2 and hybrid. Knows nothing of limits' values or of sandboxes.
 * Theory: a controller is wherever v1 has it mounted, else in v2. On v1 this process's group is the
 * parent. On v2 a group that distributes controllers may hold no processes. So the parent is, in
 * this order: as root, an existing directory `carrel` under the real root, then the real root
 * itself; then this process's group if no other process is in it (we must then move to a leaf
 * first), then its ancestors. Moving a process needs write access to the common ancestor's
 * cgroup.procs, so a rootless user can only use its own group and the ancestors.
 */
#include "host/cgroups.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"

enum { MOUNTS_MAX = 48, TEXT_MAX = 4 << 20, TEXT_FIRST = 16384, CONTROLS_MAX = 256 };

struct slice {
        const char *at;
        size_t len;
};

/* One line of mountinfo whose type is cgroup or cgroup2. */
struct cgroup_mount {
        bool is_v2;
        struct slice root, point, options;
};

/* The inputs of every question. */
struct view {
        const char *cgroup_text;
        const struct cgroup_probe *probe;
        struct cgroup_mount mounts[MOUNTS_MAX];
        size_t mount_count;
};

/* The v2 hierarchy as this process sees it. */
struct v2 {
        char mount[FACTS_PATH_MAX];
        char own[FACTS_PATH_MAX];
        bool is_real_root; /* `mount` is the root of all groups, not a namespace's or a container's
                            */
};

/* What a v2 directory offers. */
struct candidate {
        unsigned mask; /* controllers its children can have, 1u << enum cgroup_controller */
        bool must_enable;
        bool must_leave;
};

struct controller_row {
        const char *v1;
        const char *v2; /* NULL: every v2 group has it */
        /* v1 file of the hard limit, which also exists in the root group; NULL: unknown */
        const char *hard;
        const char *v2_hard; /* v2 file of the hard limit */
        /* v2 file that exists whenever the controller is enabled, with or without a limit */
        const char *v2_witness;
};

static const struct controller_row controllers[CGROUP_CONTROLLER_MAX] = {
        [CGROUP_MEMORY] = { "memory", "memory", "memory.limit_in_bytes", "memory.max",
                            "memory.current" },
        [CGROUP_PIDS] = { "pids", "pids", NULL, "pids.max", "pids.current" },
        [CGROUP_CPU] = { "cpu", "cpu", "cpu.cfs_quota_us", "cpu.max", "cpu.weight" },
        [CGROUP_IO] = { "blkio", "io", "blkio.throttle.write_bps_device", "io.max", "io.stat" },
        [CGROUP_CPUACCT] = { "cpuacct", NULL, NULL, NULL, NULL },
};

/* Groups that exist on most hosts, to be examined in place of the group that is not created yet. */
static const char *const neighbours[] = { "system.slice", "init.scope", "user.slice" };

const char *
cgroup_controller_name(enum cgroup_controller controller)
{
        const struct controller_row *row = &controllers[controller];

        return row->v2 ? row->v2 : row->v1;
}

/* -- text -------------------------------------------------------------------------------------- */

static bool
slice_is(struct slice s, const char *text)
{
        return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

/* Cuts the text before `end` from the front of *rest; false if nothing is left. */
static bool
slice_cut(struct slice *rest, char end, struct slice *ret)
{
        const char *stop;

        if (!rest->at)
                return false;
        stop = memchr(rest->at, end, rest->len);
        ret->at = rest->at;
        ret->len = stop ? (size_t)(stop - rest->at) : rest->len;
        if (stop)
                *rest = (struct slice){ stop + 1, rest->len - ret->len - 1 };
        else
                *rest = (struct slice){ NULL, 0 };
        return true;
}

static bool
list_has(struct slice list, char separator, const char *name)
{
        struct slice word;

        while (slice_cut(&list, separator, &word))
                if (slice_is(word, name))
                        return true;
        return false;
}

static int
octal_at(const char *at, size_t len)
{
        int value = 0;

        if (len < 4 || at[0] != '\\')
                return -1;
        for (size_t i = 1; i < 4; i++) {
                if (at[i] < '0' || at[i] > '7')
                        return -1;
                value = value * 8 + (at[i] - '0');
        }
        return value < 256 ? value : -1;
}

/*
 * Decodes blanks and backslashes, which mountinfo writes as \ooo. False if the path does not fit.
 */
static bool
path_decode(struct slice s, char *ret, size_t room)
{
        size_t used = 0;

        for (size_t i = 0; i < s.len; i++) {
                int octal = octal_at(s.at + i, s.len - i);

                if (used + 1 >= room)
                        return false;
                ret[used++] = octal >= 0 ? (char)octal : s.at[i];
                if (octal >= 0)
                        i += 3;
        }
        ret[used] = '\0';
        return true;
}

/* dir + "/" + name; "" if it does not fit, which no probe finds. */
static const char *
path_join(char ret[FACTS_PATH_MAX], const char *dir, const char *name)
{
        int len = snprintf(ret, FACTS_PATH_MAX, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);

        if (len < 0 || len >= FACTS_PATH_MAX)
                ret[0] = '\0';
        return ret;
}

/* -- questions --------------------------------------------------------------------------------- */

static bool
dir_has(const struct cgroup_probe *probe, const char *dir, const char *name)
{
        char path[FACTS_PATH_MAX];

        path_join(path, dir, name);
        return path[0] != '\0' && probe->exists(probe->data, path);
}

static bool
dir_reads(const struct cgroup_probe *probe, const char *dir, const char *name, char *buf,
          size_t room)
{
        char path[FACTS_PATH_MAX];

        buf[0] = '\0';
        path_join(path, dir, name);
        return path[0] != '\0' && probe->read(probe->data, path, buf, room) >= 0;
}

static unsigned
mask_read(const struct cgroup_probe *probe, const char *dir, const char *name)
{
        char text[CONTROLS_MAX];
        struct slice list;
        unsigned mask = 0;

        if (!dir_reads(probe, dir, name, text, sizeof text))
                return 0;
        list = (struct slice){ text, strcspn(text, "\n") };
        for (unsigned i = 0; i < CGROUP_CONTROLLER_MAX; i++)
                if (controllers[i].v2 && list_has(list, ' ', controllers[i].v2))
                        mask |= 1u << i;
        return mask;
}

/* -- the two files ----------------------------------------------------------------------------- */

/* "36 25 0:32 / /sys/fs/cgroup/memory rw,relatime shared:5 - cgroup cgroup rw,memory" */
static bool
mount_read(struct slice line, struct cgroup_mount *ret)
{
        struct slice field, type;

        for (unsigned i = 0; i < 5; i++) {
                if (!slice_cut(&line, ' ', &field))
                        return false;
                if (i == 3)
                        ret->root = field;
                if (i == 4)
                        ret->point = field;
        }
        do {
                if (!slice_cut(&line, ' ', &field))
                        return false;
        } while (!slice_is(field, "-"));
        if (!slice_cut(&line, ' ', &type) || !slice_cut(&line, ' ', &field) ||
            !slice_cut(&line, ' ', &ret->options))
                return false;
        ret->is_v2 = slice_is(type, "cgroup2");
        return ret->is_v2 || slice_is(type, "cgroup");
}

static void
mounts_read(struct view *v, const char *text)
{
        struct slice rest = { text, strlen(text) }, line;

        while (v->mount_count < MOUNTS_MAX && slice_cut(&rest, '\n', &line))
                if (mount_read(line, &v->mounts[v->mount_count]))
                        v->mount_count++;
}

/* Our group in the hierarchy of this v1 controller, or (NULL) of v2, from /proc/self/cgroup. */
static bool
own_path_find(const struct view *v, const char *v1_name, struct slice *ret)
{
        struct slice rest = { v->cgroup_text, strlen(v->cgroup_text) }, line, number, names;

        while (slice_cut(&rest, '\n', &line)) {
                if (!slice_cut(&line, ':', &number) || !slice_cut(&line, ':', &names) || !line.at)
                        continue;
                *ret = line;
                if (v1_name ? list_has(names, ',', v1_name)
                            : slice_is(number, "0") && names.len == 0)
                        return true;
        }
        return false;
}

/*
 * The directory of this process's group below this mount. If the group is outside the mount (a
 * container that shows only a part, or another namespace's path), gives the mount point itself and
 * is_inside false.
 */
static bool
mount_own_dir(const struct cgroup_mount *m, struct slice own, char *ret, bool *ret_is_inside)
{
        char root[FACTS_PATH_MAX], point[FACTS_PATH_MAX];
        size_t root_len;
        int len;

        if (!path_decode(m->root, root, sizeof root) || !path_decode(m->point, point, sizeof point))
                return false;
        root_len = strcmp(root, "/") == 0 ? 0 : strlen(root);
        *ret_is_inside = own.len >= root_len && memcmp(own.at, root, root_len) == 0 &&
                         (own.len == root_len || own.at[root_len] == '/') &&
                         !(own.len >= 3 && memcmp(own.at, "/..", 3) == 0);
        own = *ret_is_inside ? (struct slice){ own.at + root_len, own.len - root_len }
                             : (struct slice){ "", 0 };
        if (own.len == 1)
                own.len = 0;
        len = snprintf(ret, FACTS_PATH_MAX, "%s%.*s", point, (int)own.len, own.at);
        return len > 0 && len < FACTS_PATH_MAX;
}

static bool
mount_fits(const struct cgroup_mount *m, const char *v1_name)
{
        return v1_name ? !m->is_v2 && list_has(m->options, ',', v1_name) : m->is_v2;
}

/*
 * Our group's directory in the hierarchy of this v1 controller, or (NULL) of v2, and the mount
 * point of that hierarchy. The first mount that shows our group is used, else the first mount at
 * all.
 */
static bool
own_dir_find(const struct view *v, const char *v1_name, char *ret_dir, char *ret_mount)
{
        char dir[FACTS_PATH_MAX];
        struct slice own;
        bool is_inside, is_found = false;
        unsigned fits = 0;

        if (!own_path_find(v, v1_name, &own))
                return false;
        for (size_t i = 0; i < v->mount_count; i++)
                fits += mount_fits(&v->mounts[i], v1_name);
        for (size_t i = 0; i < v->mount_count; i++) {
                const struct cgroup_mount *m = &v->mounts[i];

                if (!mount_fits(m, v1_name) || !mount_own_dir(m, own, dir, &is_inside))
                        continue;
                if (fits > 1) /* a question costs a microsecond: skipped if there is no choice */
                        is_inside = is_inside && v->probe->exists(v->probe->data, dir);
                if (is_found && !is_inside)
                        continue;
                is_found = true;
                if (!path_decode(m->point, ret_mount, FACTS_PATH_MAX))
                        return false;
                (void)snprintf(ret_dir, FACTS_PATH_MAX, "%s", is_inside ? dir : ret_mount);
                if (is_inside)
                        break;
        }
        return is_found;
}

/* -- v1 ---------------------------------------------------------------------------------------- */

static bool
v1_parent_find(const struct view *v, const char *name, char *ret)
{
        char mount[FACTS_PATH_MAX];

        if (!own_dir_find(v, name, ret, mount))
                return false;
        if (v->probe->is_writable(v->probe->data, ret))
                return true;
        if (strcmp(ret, mount) != 0 && !v->probe->exists(v->probe->data, ret) &&
            v->probe->is_writable(v->probe->data, mount)) {
                memcpy(ret, mount, sizeof mount);
                return true;
        }
        ret[0] = '\0';
        return false;
}

static void
v1_read(struct cgroup_facts *ret, const struct view *v)
{
        char parent[FACTS_PATH_MAX];

        for (unsigned i = 0; i < CGROUP_CONTROLLER_MAX; i++) {
                struct cgroup_place *place = &ret->place[i];

                if (!v1_parent_find(v, controllers[i].v1, parent))
                        continue;
                place->version = 1;
                memcpy(place->parent, parent, sizeof place->parent);
                place->is_limited =
                        controllers[i].hard && !dir_has(v->probe, parent, controllers[i].hard);
        }
        if (ret->place[CGROUP_MEMORY].version == 1) {
                struct cgroup_place *memory = &ret->place[CGROUP_MEMORY];

                memory->is_swap_limited =
                        dir_has(v->probe, memory->parent, "memory.memsw.limit_in_bytes");
                memory->is_socket_limited =
                        dir_has(v->probe, memory->parent, "memory.kmem.tcp.limit_in_bytes");
        }
        if (v1_parent_find(v, "freezer", parent))
                memcpy(ret->freezer, parent, sizeof ret->freezer);
}

/* -- v2 ---------------------------------------------------------------------------------------- */

/*
 * An existing group that has the witness file, to be examined in place of the new one; NULL if no
 * such group exists.
 */
static const char *
v2_example_find(const struct view *v, const struct v2 *v2, const char *witness,
                char dir[FACTS_PATH_MAX])
{
        if (!(v2->is_real_root && strcmp(v2->own, v2->mount) == 0) &&
            dir_has(v->probe, v2->own, witness))
                return v2->own;
        for (size_t i = 0; i < sizeof neighbours / sizeof *neighbours; i++)
                if (dir_has(v->probe, path_join(dir, v2->mount, neighbours[i]), witness))
                        return dir;
        return NULL;
}

/* Would a new group have this file? `otherwise` if no example exists. */
static bool
v2_would_have(const struct view *v, const struct v2 *v2, const char *witness, const char *file,
              bool otherwise)
{
        char room[FACTS_PATH_MAX];
        const char *example = v2_example_find(v, v2, witness, room);

        return example ? dir_has(v->probe, example, file) : otherwise;
}

static bool
v2_may_make(const struct cgroup_probe *probe, const char *dir)
{
        char path[FACTS_PATH_MAX], type[64];

        if (dir_reads(probe, dir, "cgroup.type", type, sizeof type) &&
            strcspn(type, "\n") != strlen("domain"))
                return false; /* threaded, domain invalid */
        path_join(path, dir, "cgroup.procs");
        return probe->is_writable(probe->data, dir) && path[0] != '\0' &&
               probe->is_writable(probe->data, path);
}

/* Is the group empty, or is only this process in it? */
static bool
v2_is_ours_alone(const struct cgroup_probe *probe, const char *dir, bool *ret_holds_us)
{
        char text[64], us[32];

        *ret_holds_us = false;
        if (!dir_reads(probe, dir, "cgroup.procs", text, sizeof text))
                return false;
        (void)snprintf(us, sizeof us, "%ld\n", probe->self_pid);
        *ret_holds_us = strcmp(text, us) == 0;
        return *ret_holds_us || text[0] == '\0';
}

/* May groups with limits be created in `dir`? `wanted`: controllers that v1 does not have. */
static bool
v2_weigh(const struct view *v, const struct v2 *v2, const char *dir, unsigned wanted,
         struct candidate *ret)
{
        bool is_root_group = v2->is_real_root && strcmp(dir, v2->mount) == 0;
        unsigned on;

        *ret = (struct candidate){
                .mask = wanted ? mask_read(v->probe, dir, "cgroup.controllers") & wanted : 0
        };
        if (ret->mask == 0)
                return false;
        on = mask_read(v->probe, dir, "cgroup.subtree_control");
        ret->must_enable = (ret->mask & ~on) != 0;
        if (is_root_group || on != 0)
                return true;
        return v2_is_ours_alone(v->probe, dir, &ret->must_leave);
}

static void
enable_add(struct cgroup_facts *ret, const char *dir)
{
        if (ret->enable_count < sizeof ret->enable / sizeof *ret->enable)
                (void)snprintf(ret->enable[ret->enable_count++], FACTS_PATH_MAX, "%s", dir);
}

static void
v2_take(struct cgroup_facts *ret, const struct view *v, const struct v2 *v2, const char *dir,
        unsigned mask)
{
        char room[FACTS_PATH_MAX];
        const char *example;

        (void)snprintf(ret->unified, sizeof ret->unified, "%s", dir);
        for (unsigned i = 0; i < CGROUP_CONTROLLER_MAX; i++) {
                struct cgroup_place *place = &ret->place[i];
                bool is_cpuacct = i == CGROUP_CPUACCT;

                if (!is_cpuacct && !(mask & 1u << i))
                        continue;
                *place = (struct cgroup_place){ .version = 2 };
                (void)snprintf(place->parent, sizeof place->parent, "%s", dir);
                if (!is_cpuacct)
                        place->is_limited = !v2_would_have(v, v2, controllers[i].v2_witness,
                                                           controllers[i].v2_hard, true);
        }
        ret->place[CGROUP_MEMORY].is_socket_limited |= (mask & 1u << CGROUP_MEMORY) != 0;
        if (mask & 1u << CGROUP_MEMORY)
                ret->place[CGROUP_MEMORY].is_swap_limited =
                        v2_would_have(v, v2, "memory.current", "memory.swap.max",
                                      v->probe->exists(v->probe->data, "/proc/swaps"));
        example = v2_example_find(v, v2, "cgroup.events", room);
        ret->has_kill =
                example ? dir_has(v->probe, example, "cgroup.kill") : v->probe->release >= 5014;
        ret->has_freeze =
                example ? dir_has(v->probe, example, "cgroup.freeze") : v->probe->release >= 5002;
}

/*
 * As root: an existing `carrel` under the real root, else the real root, where processes may stay.
 */
static bool
v2_take_root(struct cgroup_facts *ret, const struct view *v, const struct v2 *v2, unsigned wanted)
{
        char dir[FACTS_PATH_MAX];
        struct candidate root, below;
        bool holds_us;

        if (!v->probe->is_root || !v2->is_real_root || wanted == 0 ||
            !v2_weigh(v, v2, v2->mount, wanted, &root) || !v2_may_make(v->probe, v2->mount))
                return false;
        if (root.must_enable)
                enable_add(ret, v2->mount);
        path_join(dir, v2->mount, "carrel");
        if (dir_has(v->probe, dir, "cgroup.procs") && v2_may_make(v->probe, dir) &&
            v2_is_ours_alone(v->probe, dir, &holds_us) && !holds_us) {
                below.mask = mask_read(v->probe, dir, "cgroup.subtree_control");
                if (root.mask & ~below.mask)
                        enable_add(ret, dir);
                v2_take(ret, v, v2, dir, root.mask);
        } else {
                v2_take(ret, v, v2, v2->mount, root.mask);
        }
        return true;
}

/* Removes the last name; false at the top of the mount. */
static bool
path_climb(char *dir, const char *top)
{
        char *slash = strrchr(dir, '/');

        if (strcmp(dir, top) == 0 || !slash || slash == dir)
                return false;
        *slash = '\0';
        return true;
}

/*
 * The leaf in which runtimes run, so that the group above can distribute limits. Nothing is created
 * below it.
 */
static bool
is_leaf(const char *dir)
{
        const char *slash = strrchr(dir, '/');

        return slash && strcmp(slash + 1, "carrel-runtime") == 0;
}

/*
 * This process's group, then its ancestors: the first that can limit, else the first that is
 * writable (for kill and freeze).
 */
static void
v2_take_nearest(struct cgroup_facts *ret, const struct view *v, const struct v2 *v2,
                unsigned wanted)
{
        char dir[FACTS_PATH_MAX], writable[FACTS_PATH_MAX] = "";
        struct candidate c;

        memcpy(dir, v2->own, sizeof dir);
        do {
                if (is_leaf(dir) || !v2_may_make(v->probe, dir))
                        continue;
                if (v2_weigh(v, v2, dir, wanted, &c)) {
                        if (c.must_enable)
                                enable_add(ret, dir);
                        ret->must_leave = c.must_leave;
                        v2_take(ret, v, v2, dir, c.mask);
                        return;
                }
                if (writable[0] == '\0')
                        memcpy(writable, dir, sizeof writable);
        } while (path_climb(dir, v2->mount));
        if (writable[0] != '\0')
                v2_take(ret, v, v2, writable, 0);
}

static bool
v2_read(struct cgroup_facts *ret, const struct view *v)
{
        struct v2 v2;
        unsigned wanted = 0;

        if (!own_dir_find(v, NULL, v2.own, v2.mount))
                return false;
        v2.is_real_root = !dir_has(v->probe, v2.mount, "cgroup.type");
        for (unsigned i = 0; i < CGROUP_CONTROLLER_MAX; i++)
                if (controllers[i].v2 && ret->place[i].version == 0)
                        wanted |= 1u << i;
        if (!v2_take_root(ret, v, &v2, wanted))
                v2_take_nearest(ret, v, &v2, wanted);
        return true;
}

/* -- together ---------------------------------------------------------------------------------- */

static const char *
why_none(const struct cgroup_facts *facts, const struct view *v, bool has_v2)
{
        for (unsigned i = 0; i < CGROUP_CPUACCT; i++)
                if (facts->place[i].version != 0)
                        return NULL;
        if (v->mount_count == 0)
                return "no cgroup hierarchy is mounted: mount one at /sys/fs/cgroup";
        if (has_v2 && facts->unified[0] != '\0')
                return "other processes share our control group, so it cannot hand out limits: "
                       "start inside a "
                       "group of your own, with systemd-run --user --scope -p Delegate=yes";
        if (v->probe->is_root)
                return "the cgroup mounts are read-only: in a container, mount them writable "
                       "(Docker: --cgroupns private with --privileged, or a delegated cgroup)";
        for (size_t i = 0; i < v->mount_count; i++)
                if (!v->mounts[i].is_v2 && list_has(v->mounts[i].options, ',', "memory"))
                        return "control groups are v1 here and belong to root: boot with "
                               "systemd.unified_cgroup_hierarchy=1, or run as root";
        return "our control group belongs to another user: start with systemd-run --user --scope "
               "-p Delegate=yes";
}

void
cgroup_facts_parse(struct cgroup_facts *ret, const char *cgroup_text, const char *mountinfo_text,
                   const struct cgroup_probe *probe)
{
        struct view v = { .cgroup_text = cgroup_text, .probe = probe };
        bool has_v2;

        memset(ret, 0, sizeof *ret);
        mounts_read(&v, mountinfo_text);
        v1_read(ret, &v);
        has_v2 = v2_read(ret, &v);
        ret->why_none = why_none(ret, &v, has_v2);
}

/* -- this machine ------------------------------------------------------------------------------ */

static bool
machine_exists(void *data, const char *path)
{
        return faccessat(AT_FDCWD, path, F_OK, AT_EACCESS) == 0;
}

static bool
machine_is_writable(void *data, const char *path)
{
        return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

static int
machine_read(void *data, const char *path, char *buf, size_t room)
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got;

        if (fd < 0)
                return -1;
        do {
                got = read(fd, buf, room - 1);
        } while (got < 0 && errno == EINTR);
        if (got < 0)
                return -1;
        buf[got] = '\0';
        return (int)got;
}

/*
 * Reads a whole /proc file, NUL-terminated, into `first`, or into memory that the caller frees.
 * NULL if it cannot be read.
 */
static char *
text_read(const char *path, char first[TEXT_FIRST])
{
        scoped_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        size_t used = 0, room = TEXT_FIRST - 1;
        char *text = first, *larger;
        ssize_t got = 1;

        if (fd < 0)
                return NULL;
        for (;;) {
                while (used < room && (got = read(fd, text + used, room - used)) > 0)
                        used += (size_t)got;
                if (got <= 0 || room > TEXT_MAX)
                        break;
                larger = realloc(text != first ? text : NULL, 2 * room + 1);
                if (!larger)
                        break;
                if (text == first)
                        memcpy(larger, first, used);
                text = larger;
                room *= 2;
        }
        text[used] = '\0';
        return text;
}

void
cgroup_facts_read(struct cgroup_facts *ret, unsigned release)
{
        struct cgroup_probe probe = { .exists = machine_exists,
                                      .is_writable = machine_is_writable,
                                      .read = machine_read,
                                      .is_root = geteuid() == 0,
                                      .release = release,
                                      .self_pid = (long)getpid() };
        static char first[2][TEXT_FIRST];
        char *cgroup_text = text_read("/proc/self/cgroup", first[0]),
             *mountinfo_text = text_read("/proc/self/mountinfo", first[1]);

        if (cgroup_text && mountinfo_text)
                cgroup_facts_parse(ret, cgroup_text, mountinfo_text, &probe);
        else
                *ret = (struct cgroup_facts){
                        .why_none = "/proc/self/cgroup cannot be read: mount /proc"
                };
        if (cgroup_text != first[0])
                free(cgroup_text);
        if (mountinfo_text != first[1])
                free(mountinfo_text);
}
