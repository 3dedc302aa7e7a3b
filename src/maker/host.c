/*
 * maker/host.c - the HOST steps.
 *
 * Room: maker (program). Touches: cgroup files, the runtime directory, volumes, private
 * directories, detached mounts, its own priority.
 */
#include "maker/host.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/counter.h"
#include "maker/container.h"
#include "maker/group.h"
#include "maker/image.h"
#include "maker/lease.h"
#include "maker/tap.h"
#include "maker/tree.h"
#include "plan/request.h"

#define LAYER_FILES "root" /* below a layer's directory: IMAGE_LAYER_ROOT of image/store.h */

enum { IOPRIO_PROCESS = 1 }; /* <linux/ioprio.h>; priority 0 is "none": derived from niceness */

#ifndef SCHED_RESET_ON_FORK
#define SCHED_RESET_ON_FORK 0x40000000
#endif

static void
look_ahead(struct host *h)
{
        for (uint32_t i = 0; i < h->view->step_count; i++) {
                struct step s = plan_view_step(h->view, i);

                if (s.op == STEP_MAP_UID)
                        h->box_uid = h->payload_uid = (uint32_t)s.number2;
                else if (s.op == STEP_MAP_GID)
                        h->box_gid = h->payload_gid = (uint32_t)s.number2;
                h->has_relay |= s.op == STEP_CONTAINER || s.op == STEP_MACHINE;
                if (s.op == STEP_CONTAINER)
                        h->runtime = s.path;
                h->has_range |= s.op == STEP_MAP_UID && (s.flags & STEP_RANGE) != 0;
                if (s.op != STEP_IDENTITY || !h->has_range)
                        continue;
                h->payload_uid += (uint32_t)s.number;
                h->payload_gid += (uint32_t)s.number2;
        }
}

void
host_init(struct host *h, const struct plan_view *view, int control, int *sources)
{
        *h = (struct host){ .view = view,
                            .sources = sources,
                            .lease = -1,
                            .unified = -1,
                            .oom = -1,
                            .image = -1,
                            .mapped = { -1, -1 },
                            .sockets = { .control = control, .mapped = -1, .tap = -1 },
                            .prepared = -1 };
        watched_init(&h->watched);
        look_ahead(h);
}

static int
make_step(const struct step *s)
{
        return mkdir(s->path, 0755) < 0 ? -errno : 0;
}

static pid_t companion; /* see host_leave_with() */

void
host_leave_with(pid_t pid)
{
        companion = pid;
}

/*
 * Moves the runtime itself (this process, its parent and its companion) into a leaf, so that its
 * group may limit children.
 */
static int
leave_step(const struct step *s)
{
        char path[4096], pid[21];
        int result;

        if (mkdir(s->path, 0755) < 0 && errno != EEXIST)
                return -errno;
        result = group_path(path, sizeof path, s->path, "cgroup.procs");
        if (result == 0)
                result = group_write(path, pid, group_number(pid, (uint64_t)getppid()));
        if (result == 0 && companion > 0)
                result = group_write(path, pid, group_number(pid, (uint64_t)companion));
        if (result == 0)
                result = group_write(path, "0", 1);
        return result;
}

/*
 * A controller that is already enabled, or that the kernel lacks, is not an error: setting the
 * limit shows it.
 */
static int
enable_step(const struct step *s)
{
        int result = group_write(s->path, s->text, s->text_len);

        return result == -ENOENT || result == -EINVAL ? group_write_words(s->path, s->text)
                                                      : result;
}

/*
 * The box is cloned into a v2 group. A v1 group is joined by the thread itself through `tasks`.
 * That avoids the lock over all processes that a write to cgroup.procs takes, and with it a wait of
 * many milliseconds on a quiet machine (measured).
 */
static int
join_step(struct host *h, const struct step *s)
{
        char path[4096];
        int fd, result;

        if ((s->flags & STEP_UNIFIED) != 0) {
                if (h->unified >= 0)
                        return -EINVAL;
                h->unified = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                return h->unified < 0 ? -errno : 0;
        }
        if (h->join_count == HOST_JOINS_MAX)
                return -E2BIG;
        result = group_path(path, sizeof path, s->path, "tasks");
        if (result < 0)
                return result;
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        h->joins[h->join_count++] = fd;
        return 0;
}

/*
 * When a v1 group is out of memory, the kernel kills one process and cannot kill all (v2:
 * memory.oom.group). So the kernel notifies, and the process that watches the box ends it.
 */
static int
listen_for_oom(struct host *h, const char *control_path, int control)
{
        char path[4096], text[64];
        const char *slash = strrchr(control_path, '/');
        int len;

        if (!slash || (size_t)(slash - control_path) + sizeof "/cgroup.event_control" > sizeof path)
                return -ENAMETOOLONG;
        memcpy(path, control_path, (size_t)(slash - control_path));
        memcpy(path + (slash - control_path), "/cgroup.event_control",
               sizeof "/cgroup.event_control");
        h->oom = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (h->oom < 0)
                return -errno;
        len = snprintf(text, sizeof text, "%d %d", h->oom, control);
        return group_write(path, text, (size_t)len);
}

static int
watch_step(struct host *h, const struct step *s)
{
        int fd;

        if (h->watch_count == HOST_WATCHES_MAX)
                return -E2BIG;
        fd = open(s->path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        h->watch_kinds[h->watch_count] = (uint8_t)s->number;
        h->watches[h->watch_count++] = fd;
        return s->number == WATCH_OOM_CONTROL ? listen_for_oom(h, s->path, fd) : 0;
}

static int
lease_step(struct host *h, const struct step *s)
{
        h->lease = lease_open(s->path, h->packed, h->packed_len, h->looks_at_leases);
        h->lease_path = s->path;
        return h->lease < 0 ? h->lease : 0;
}

/* From now on the volume is held, so it cannot be removed while a sandbox starts with it. */
static int
volume_step(struct host *h, const struct step *s)
{
        int data, result;

        if (s->source == STEP_NO_SOURCE || h->volume_count == HOST_HELD_MAX)
                return -EINVAL;
        result = volume_hold(s->path, s->text, s->number2, s->source, s->number,
                             &h->volumes[h->volume_count], &data);
        if (result < 0)
                return result;
        h->volume_count++;
        (void)close(h->sources[s->source]);
        h->sources[s->source] = data;
        return 0;
}

static int
tree_step(struct host *h, const struct step *s)
{
        int tree;

        if (s->source == STEP_NO_SOURCE)
                return -EINVAL;
        tree = s->number == PLAN_NO_ID
                       ? tree_open_plain(h->sources[s->source])
                       : tree_open(h->sources[s->source], (uint32_t)s->number, (uint32_t)s->number2,
                                   h->payload_uid, h->payload_gid);
        if (tree < 0)
                return tree;
        (void)close(h->sources[s->source]);
        h->sources[s->source] = tree;
        h->is_tree[s->source] = 1;
        return 0;
}

/*
 * The source is locked by who sent it, and stays open, so that the layer stays. What the box gets
 * is the directory of its files.
 */
static int
layer_step(struct host *h, const struct step *s)
{
        int held, files;

        if (s->source == STEP_NO_SOURCE)
                return -EINVAL;
        held = h->layers[h->layer_count++] = h->sources[s->source];
        h->sources[s->source] = -1;
        if ((s->flags & STEP_DIRECTORY) == 0)
                return 0;
        files = openat(held, LAYER_FILES, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (files < 0)
                return -errno;
        h->sources[s->source] = files;
        if (s->number == PLAN_NO_ID)
                return 0;
        h->sources[s->source] =
                tree_open(files, (uint32_t)s->number, (uint32_t)s->number2, h->box_uid, h->box_gid);
        (void)close(files);
        h->is_tree[s->source] = 1;
        return h->sources[s->source] < 0 ? h->sources[s->source] : 0;
}

/* Optional if memory can be used instead. */
static int
image_step(struct host *h, const struct step *s)
{
        if (s->source == STEP_NO_SOURCE || h->image >= 0)
                return -EINVAL;
        h->image = image_open(h->sources[s->source], s->number, h->box_uid, h->box_gid);
        if (h->image >= 0)
                return 0;
        return (s->flags & STEP_OPTIONAL) != 0 ? 0 : h->image;
}

/*
 * With privileges it is cloned here: the ids of the box cannot reach it by its path.
 */
static int
open_watched(struct host *h, const struct step *s)
{
        bool is_other = geteuid() == 0 && h->box_uid != 0;
        int result =
                watched_open(&h->watched, s->path, s->number2, s->number,
                             is_other ? h->box_uid : geteuid(), is_other ? h->box_gid : getegid());

        if (result < 0 || !is_other)
                return result;
        h->image = tree_open_plain(h->watched.place.top);
        if (h->image >= 0)
                return 0;
        result = h->image;
        h->image = -1;
        watched_close(&h->watched);
        return result;
}

/* If it is optional, memory replaces it. */
static int
watched_step(struct host *h, const struct step *s)
{
        int result;

        if (h->image >= 0 || h->watched.place.top >= 0)
                return -EINVAL;
        result = open_watched(h, s);
        return (s->flags & STEP_OPTIONAL) != 0 ? 0 : result;
}

/*
 * The cgroup namespace is created after the v1 groups are joined; otherwise its root would be the
 * maker's own group.
 */
static int
spawn_step(struct host *h, const struct step *s)
{
        h->namespaces = s->number & ~(uint64_t)CLONE_NEWCGROUP;
        h->wants_cgroup_ns = (s->number & CLONE_NEWCGROUP) != 0;
        h->last_ms = s->number2;
        return 0;
}

/*
 * By number: the C libraries hide some of these calls. A value that needs a privilege the caller
 * lacks stays, and is below the ordinary one.
 */
static int
ordinary_scheduling(void)
{
        static const int param = 0; /* struct sched_param */
        long policy;

        if (syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &param) < 0)
                (void)syscall(SYS_sched_setscheduler, 0, SCHED_OTHER | SCHED_RESET_ON_FORK, &param);
        (void)setpriority(PRIO_PROCESS, 0, 0);
        if (syscall(SYS_ioprio_set, IOPRIO_PROCESS, 0, 0) < 0)
                return -errno;
        policy = syscall(SYS_sched_getscheduler, 0);
        policy = policy < 0 ? policy : policy & ~(long)SCHED_RESET_ON_FORK;
        return policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE ? 0 : -EPERM;
}

/* Also sets the lowest value that may be set later, if we are allowed to. */
static int
ordinary_oom_score(void)
{
        char text[16] = "";
        int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
        int result = 0;

        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        if (read(fd, text, sizeof text - 1) < 0 || (text[0] == '-' && pwrite(fd, "0", 1, 0) != 1))
                result = -errno;
        (void)close(fd);
        return result;
}

static int
priority_step(void)
{
        const struct rlimit core = { 1, 1 };
        struct rlimit now;
        int result = ordinary_scheduling();

        /* A hard limit of 0 would start a core helper (plan/harden.c), and only this process may
         * raise it. */
        if (getrlimit(RLIMIT_CORE, &now) == 0 && now.rlim_max == 0)
                (void)setrlimit(RLIMIT_CORE, &core);
        return result < 0 ? result : ordinary_oom_score();
}

static int
one_step(struct host *h, const struct step *s)
{
        switch (s->op) {
        case STEP_LEASE:
                return lease_step(h, s);
        case STEP_CGROUP_ENABLE:
                return enable_step(s);
        case STEP_CGROUP_LEAVE:
                return leave_step(s);
        case STEP_CGROUP_MAKE:
                return make_step(s);
        case STEP_CGROUP_LIMIT:
                return group_write(s->path, s->text, s->text_len);
        case STEP_CGROUP_JOIN:
                return join_step(h, s);
        case STEP_CGROUP_WATCH:
                return watch_step(h, s);
        case STEP_PRIORITY:
                return priority_step();
        case STEP_KEEPING:
        case STEP_GUARD:
        case STEP_SURVEY:
                return 0; /* read before the first step (guard.h, survey.h) */
        case STEP_VOLUME:
                return volume_step(h, s);
        case STEP_TREE:
                return tree_step(h, s);
        case STEP_LAYER:
                return layer_step(h, s);
        case STEP_RUNTIME:
                h->runtime_directory = s->path;
                return h->runtime ? container_prepare(s, h->runtime) : -EINVAL;
        case STEP_IMAGE:
                return image_step(h, s);
        case STEP_WATCHED:
                return watched_step(h, s);
        case STEP_TAP:
                return tap_make(&h->sockets, s);
        case STEP_SPAWN:
                return spawn_step(h, s);
        default:
                return -ENOTSUP;
        }
}

int
host_step(struct host *h, const struct step *s)
{
        int result = one_step(h, s);

        if (result == 0)
                h->done++;
        return result;
}

static void
close_all(int *fds, size_t count)
{
        for (size_t i = 0; i < count; i++)
                (void)close(fds[i]);
}

void
host_count(const struct host *h, struct wire_box_ended *ended)
{
        for (size_t i = 0; i < h->watch_count; i++) {
                uint64_t value;

                switch (h->watch_kinds[i]) {
                case WATCH_CPU_NS:
                        value = counter_read(h->watches[i], "");
                        break;
                case WATCH_CPU_STAT:
                        value = counter_read(h->watches[i], "usage_usec");
                        break;
                case WATCH_OOM_CONTROL:
                case WATCH_MEMORY_EVENTS:
                        value = counter_read(h->watches[i], "oom_kill");
                        break;
                case WATCH_PIDS_EVENTS:
                        value = counter_read(h->watches[i], "max");
                        break;
                default:
                        continue;
                }
                if (value == UINT64_MAX)
                        continue;
                ended->has_usage = 1;
                if (h->watch_kinds[i] == WATCH_CPU_NS || h->watch_kinds[i] == WATCH_CPU_STAT)
                        ended->cpu_ns = h->watch_kinds[i] == WATCH_CPU_STAT ? value * 1000 : value;
                else if (h->watch_kinds[i] == WATCH_PIDS_EVENTS)
                        ended->pids_refused = value;
                else
                        ended->oom_kills = value;
        }
}

void
host_fini(struct host *h)
{
        struct plan_view done = *h->view;

        close_all(h->layers, h->layer_count);
        close_all(h->joins, h->join_count);
        close_all(h->watches, h->watch_count);
        if (h->unified >= 0)
                (void)close(h->unified);
        if (h->oom >= 0)
                (void)close(h->oom);
        if (h->prepared >= 0)
                (void)close(h->prepared);
        if (h->image >= 0)
                /* before its group, which counts the pages still to be written */
                (void)close(h->image);
        watched_close(&h->watched);
        tap_let_go(&h->sockets);
        h->join_count = h->watch_count = h->layer_count = 0;
        h->unified = h->oom = h->image = h->prepared = -1;
        while (h->volume_count > 0)
                volume_let_go(&h->volumes[--h->volume_count]);
        done.step_count = h->done; /* HOST steps come first, so these are the first `done` ones */
        lease_undo(&done);
        if (h->runtime_directory)
                container_reap();
        h->runtime_directory = NULL;
        if (h->lease >= 0)
                lease_close(h->lease_path, h->lease);
        h->lease = -1;
}
