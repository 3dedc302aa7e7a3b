/*
 * plan/harden.c - the hardening that pid 1 of the box applies to itself before any payload runs;
 * every payload inherits it.
 *
 * Room: plan (deciding, pure). Touches: nothing.
 * Theory: the order is forced. Landlock needs no_new_privs, ids must change before capabilities are
 * dropped, and the filter comes last because it blocks calls that the other steps need (P7, P8).
 */
#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>

#include "plan/builder.h"

enum { TASKS_SPARE = 64, TASKS_OWN = 2 /* at most: pid 1, and the child it has ready */ };

struct pool_row {
        int resource;
        uint64_t value;
        const char *why;
};

/*
 * Kernel resources that a process may take for itself; the limits do not depend on the caller's.
 * Limits of open files and tasks come from the manifest.
 */
static const struct pool_row pools[] = {
        /* 1, not 0: if core_pattern is a pipe, the kernel starts its helper, as root and
         * outside, for every limit but 1. A core file of 1 byte is never written. */
        { RLIMIT_CORE, 1, "no core file and no core helper" },
        { RLIMIT_RTPRIO, 0, "no real-time class" },
        { RLIMIT_NICE, 0, "no niceness below that of the sandbox" },
        { RLIMIT_MEMLOCK, 8 << 20, "the kernel's own default of locked memory" },
        { RLIMIT_SIGPENDING, 4096, "queued signals and timers" },
        { RLIMIT_MSGQUEUE, 409600, "half of the kernel's own default of POSIX message queues" },
};

static struct step *
rlimit(struct builder *b, int resource, uint64_t value, const char *why)
{
        struct step *s;

        if (value == SPEC_UNSET || !builder_has(b, SWITCH_RLIMITS))
                return NULL;
        s = builder_add(b, STEP_RLIMIT, "", why);
        s->number = (uint64_t)resource;
        s->number2 = value;
        return s;
}

static void
allow(struct builder *b, const char *path, enum step_access access, const char *why)
{
        builder_add(b, STEP_LANDLOCK_ALLOW, path, why)->number = access;
}

static void
landlock(struct builder *b)
{
        const char *const writable[] = { "/tmp", "/run", "/dev/shm", plan_home(b->spec) };
        static const char *const devices[] = { "/dev/null",    "/dev/zero", "/dev/full",
                                               "/dev/urandom", "/dev/tty",  "/dev/pts" };

        if (!builder_has(b, SWITCH_LANDLOCK))
                return;
        allow(b, "/", ACCESS_READ, "everything that is mounted may be read");
        allow(b, "/proc", ACCESS_PROC, "a process may adjust itself");
        for (size_t i = 0; i < sizeof writable / sizeof *writable; i++)
                allow(b, writable[i], ACCESS_WRITE, "private");
        if (b->request->rootfs)
                allow(b, "/var/tmp", ACCESS_WRITE, "private");
        if (b->request->rootfs && builder_uid(b) == 0)
                allow(b, "/", ACCESS_WRITE, "user: root may change its files of the image");
        for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
                allow(b, devices[i], ACCESS_DEVICE, "harmless");
        /* mq_open() finds its queue through a mount that no path leads to. Landlock denies it
         * unless a rule names the root of the same file system. */
        if (builder_has(b, SWITCH_IPC))
                allow(b, PLAN_MQUEUE, ACCESS_WRITE, "message queues of its own");
        for (size_t i = 0; i < b->request->mount_count; i++)
                if (!b->request->mounts[i].is_read_only)
                        allow(b, b->request->mounts[i].at, ACCESS_WRITE, "mounts: read-write");
        builder_add(b, STEP_LANDLOCK, "", "a second wall behind the mounts")->number =
                b->facts->landlock_abi;
}

static void
identity(struct builder *b)
{
        struct step *s;

        if (!builder_has(b, SWITCH_IDENTITY))
                return;
        s = builder_add(b, STEP_IDENTITY, "",
                        builder_uid(b) == 0 ? "root of the sandbox's own user namespace"
                                            : "an ordinary user inside, with no way back");
        s->number = builder_uid(b);
        s->number2 = builder_uid(b);
}

/* What a package manager needs of files and users; none of the network, of mounts or of devices. */
#define KEPT(name)                       \
        {                                \
                CAP_##name, "CAP_" #name \
        }
static const struct capability_row {
        int number;
        const char *name;
} kept[] = {
        KEPT(CHOWN), KEPT(DAC_OVERRIDE), KEPT(FOWNER), KEPT(FSETID),
        KEPT(KILL),  KEPT(SETGID),       KEPT(SETUID),
};
#undef KEPT

void
builder_capabilities(struct json_writer *w, uint64_t mask)
{
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
                if ((mask >> kept[i].number & 1) != 0)
                        json_text(w, kept[i].name);
}

static void
drop_capabilities(struct builder *b)
{
        struct step *s = builder_add(
                b, STEP_DROP_CAPS, "",
                builder_uid(b) == 0 ? "user: root owns files and users of the sandbox, and "
                                      "nothing else"
                                    : "nothing inside needs a capability");

        /* another user has a count of its own of what RLIMIT_NPROC limits; a group counts all */
        for (size_t i = 0; builder_uid(b) == 0 && i < sizeof kept / sizeof *kept; i++)
                if (b->plan->counts_pids ||
                    (kept[i].number != CAP_SETUID && kept[i].number != CAP_SETGID))
                        s->number |= UINT64_C(1) << kept[i].number;
}

/*
 * A written number is the soft limit from the start. The default keeps a low soft limit for
 * programs that use select(2).
 */
static void
open_files(struct builder *b)
{
        struct step *s = rlimit(b, RLIMIT_NOFILE, b->spec->limits.open_files, "limits.open_files");

        if (s && !builder_is_written(b->spec, "open_files"))
                s->flags |= STEP_SOFT;
}

static void
filter(struct builder *b)
{
        bool is_filtered = builder_has(b, SWITCH_FILTER);
        bool asks = is_filtered && b->request->rootfs && builder_uid(b) == 0;
        enum step_filter first = !asks                   ? STEP_FILTER_DEFAULT
                                 : b->request->has_range ? STEP_FILTER_ROOT
                                                         : STEP_FILTER_ONE_ID;
        struct step *s;

        if (b->request->watches_exec && !asks)
                (void)builder_add(b, STEP_WATCH_EXEC, "", "the audit log names every program");
        if (!is_filtered)
                return;
        s = builder_add(b, STEP_FILTER, "",
                        asks ? "fewer ways into the kernel; pid 1 takes off set-id bits"
                             : "fewer ways into the kernel");
        s->number = (uint64_t)first + (b->spec->carrel.unix_sockets == SPEC_UNIX_OFF ? 1 : 0);
        s->number2 = asks && b->request->watches_exec ? 1 : 0;
}

/*
 * Where a group counts, it holds the number, and can be given another one while the box lives. A
 * process cannot: only a privilege that root often lacks raises this limit. So a living box begins
 * with room for the default of limits.pids.
 */
static void
tasks(struct builder *b)
{
        uint64_t most = builder_tasks(b);

        if (b->spec->limits.pids == SPEC_UNSET)
                return;
        if (b->plan->counts_pids && b->request->is_living && most < SPEC_PIDS + TASKS_OWN)
                most = SPEC_PIDS + TASKS_OWN;
        (void)rlimit(b, RLIMIT_NPROC, most + (b->plan->counts_pids ? TASKS_SPARE : 0),
                     b->plan->counts_pids && b->request->is_living
                             ? "the control group holds limits.pids, which may be raised later"
                             : "limits.pids and Carrel's own processes, counted in the sandbox's "
                               "user namespace; slightly higher where a control group also counts");
}

void
builder_harden(struct builder *b)
{
        for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
                (void)rlimit(b, pools[i].resource, pools[i].value, pools[i].why);
        open_files(b);
        tasks(b);
        identity(b);
        if (builder_has(b, SWITCH_NO_NEW_PRIVS))
                (void)builder_add(b, STEP_NO_NEW_PRIVS, "", "set-id programs gain nothing");
        if (builder_has(b, SWITCH_HIDE))
                (void)builder_add(b, STEP_HIDE, "",
                                  "pid 1 shares the payload's uid and must stay out of its reach");
        landlock(b);
        if (builder_has(b, SWITCH_CAPS))
                drop_capabilities(b);
        filter(b);
}
