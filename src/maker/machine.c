/*
 * maker/machine.c - starts QEMU.
 *
 * Room: maker (program). Touches: files of the box's root, processes.
 * Theory: a payload that takes over the machine's kernel attacks QEMU, and one that takes over QEMU
 * is a process of this box: in its namespaces, without a network, a capability or a file to write
 * but its machine's memory, behind the filter of a payload. QEMU gets the stream to pid 1 inside;
 * with mounts a socket to virtiofsd, which can write the mounts and nothing else; with
 * network.egress the tap, behind which only the gate answers (maker/tap.c). Source of the archive's
 * format: Linux, Documentation/driver-api/early-userspace/buffer-format.rst.
 */
#include "maker/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest/command.h"
#include "guest/harden.h"
#include "maker/slots.h"
#include "plan/request.h"
#include "seal/landlock.h"

enum {
        PATH_ROOM = 4096,
        HEAD_ROOM = 256,
        PART = 1 << 20,
        ALIGNED = 4,
        WORDS_MAX = 64,
        BROKEN = 127,
        TASKS_MAX = 4096, /* counted in the box's own user namespace; its group counts fewer */
};

/* -- what the machine begins with -------------------------------------------------------------- */

struct archive {
        int out;
        unsigned inode;
        off_t at;
};

static int
put(struct archive *a, const void *bytes, size_t len)
{
        if (write(a->out, bytes, len) != (ssize_t)len)
                return errno != 0 ? -errno : -EIO;
        a->at += (off_t)len;
        return 0;
}

static int
align(struct archive *a)
{
        static const char zeros[ALIGNED];

        return put(a, zeros, (size_t)(-a->at & (ALIGNED - 1)));
}

/* Head and name of an entry: "newc", numbers in hexadecimal. */
static int
begin_entry(struct archive *a, const char *name, mode_t mode, size_t len)
{
        char head[HEAD_ROOM];
        int used = snprintf(head, sizeof head,
                            "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s",
                            ++a->inode, (unsigned)mode, 0u, 0u, 1u, 0u, (unsigned)len, 0u, 0u, 0u,
                            0u, (unsigned)strlen(name) + 1, 0u, name);
        int result;

        if (used < 0 || (size_t)used >= sizeof head)
                return -ENAMETOOLONG;
        result = put(a, head, (size_t)used + 1);
        return result < 0 ? result : align(a);
}

static int
copy_file(struct archive *a, int from, size_t len)
{
        size_t left = len;

        while (left > 0) {
                ssize_t copied = sendfile(a->out, from, NULL, left < PART ? left : PART);

                if (copied <= 0)
                        return copied < 0 ? -errno : -EIO;
                left -= (size_t)copied;
        }
        a->at += (off_t)len;
        return align(a);
}

static int
add_file(struct archive *a, const char *name, mode_t mode, const char *path)
{
        int from = open(path, O_RDONLY | O_CLOEXEC), result;
        struct stat st;

        if (from < 0)
                return -errno;
        result = fstat(from, &st) < 0                                     ? -errno
                 : !S_ISREG(st.st_mode) || st.st_size > (off_t)UINT32_MAX ? -EINVAL
                                                                          : 0;
        if (result == 0)
                result = begin_entry(a, name, S_IFREG | mode, (size_t)st.st_size);
        if (result == 0)
                result = copy_file(a, from, (size_t)st.st_size);
        (void)close(from);
        return result;
}

/* A line of the step's text for each. */
static int
add_modules(struct archive *a, const struct step *s)
{
        char path[PATH_ROOM], name[32];
        const char *at = s->text;
        unsigned count = 0;
        int result = 0;

        while (*at != '\0' && result == 0) {
                size_t len = strcspn(at, "\n");

                if (len >= sizeof path)
                        return -ENAMETOOLONG;
                memcpy(path, at, len);
                path[len] = '\0';
                (void)snprintf(name, sizeof name, "modules/%u", count++);
                result = add_file(a, name, 0444, path);
                at += len + (at[len] == '\n');
        }
        return result;
}

/* The kernel looks for this name. */
static int
add_slots(struct archive *a)
{
        int result = begin_entry(a, "kernel/firmware/acpi/slots.aml", S_IFREG | 0444, SLOTS_BYTES);

        if (result == 0)
                result = put(a, slots_table, SLOTS_BYTES);
        return result < 0 ? result : align(a);
}

int
machine_write_first(int root, const struct step *s)
{
        struct archive a = { .out = openat(root, s->path + 1,
                                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                           0444) };
        int result = a.out < 0 ? -errno : 0;

        if (result == 0)
                result = add_file(&a, "init", 0555, "/proc/self/exe");
        if (result == 0 && s->number == PLAN_MACHINE_SAVES)
                result = add_slots(&a);
        if (result == 0)
                result = begin_entry(&a, "modules", S_IFDIR | 0555, 0);
        if (result == 0)
                result = add_modules(&a, s);
        if (result == 0)
                result = begin_entry(&a, "TRAILER!!!", 0, 0);
        if (a.out >= 0)
                (void)close(a.out);
        return result;
}

/* -- QEMU and virtiofsd ------------------------------------------------------------------------ */

/* Descriptors of a program: its streams, and the pipe that reports why it was not executed. */
enum {
        STREAM = 3,
        SHARE,
        TAP,
        MONITOR,
        SAVED,
        REPORT,
        FIRST_FREE,
        GIVEN = REPORT - STREAM,
        BORROWED = REPORT - TAP
};

struct program {
        const struct step *step;
        int fds[GIVEN]; /* become STREAM and what follows; -1: none */
        const struct step *rules;
        size_t rule_count;
        uint64_t kept; /* capabilities, which count in the box's user namespace alone */
        /* virtiofsd turns to its directory, which the filter of a payload refuses, and then
         * installs a list of its own */
        bool has_own_filter;
};

static const struct step limits[] = {
        { .op = STEP_RLIMIT, .number = RLIMIT_CORE, .number2 = 1 },
        { .op = STEP_RLIMIT, .number = RLIMIT_RTPRIO, .number2 = 0 },
        { .op = STEP_RLIMIT, .number = RLIMIT_NICE, .number2 = 0 },
        { .op = STEP_RLIMIT, .number = RLIMIT_MEMLOCK, .number2 = 8 << 20 },
        { .op = STEP_RLIMIT, .number = RLIMIT_MSGQUEUE, .number2 = 0 },
        { .op = STEP_RLIMIT, .number = RLIMIT_NPROC, .number2 = TASKS_MAX },
        { .op = STEP_IDENTITY, .number = PLAN_UID, .number2 = PLAN_GID },
        { .op = STEP_NO_NEW_PRIVS },
};

#define MAY(at, access)                                                     \
        {                                                                   \
                .op = STEP_LANDLOCK_ALLOW, .path = (at), .number = (access) \
        }

/* Programs and libraries, and what the machine begins with: not the mounts. */
static const struct step qemu_rules[] = {
        MAY("/usr", ACCESS_READ),
        MAY("/lib", ACCESS_READ),
        MAY("/lib64", ACCESS_READ),
        MAY("/kernel", ACCESS_READ),
        MAY("/disk", ACCESS_READ),
        MAY("/dev", ACCESS_READ),
        MAY("/initramfs", ACCESS_READ),
        MAY("/dev/null", ACCESS_DEVICE),
        MAY(PLAN_MACHINE_MEMORY, ACCESS_DEVICE),
};

static const struct step share_rules[] = {
        MAY("/usr", ACCESS_READ),        MAY("/lib", ACCESS_READ),
        MAY("/lib64", ACCESS_READ),      MAY("/proc", ACCESS_READ),
        MAY("/dev/null", ACCESS_DEVICE), MAY(PLAN_MACHINE_SHARES, ACCESS_WRITE),
};

/* What virtiofsd needs to turn to its directory, and to act as the user who asks. */
#define BIT(cap) (UINT64_C(1) << (cap))
#define SHARE_KEPT (BIT(CAP_SYS_CHROOT) | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_SETPCAP))

static int
apply(struct harden *harden, const struct step *steps, size_t count)
{
        int result = 0;

        for (size_t i = 0; i < count && result == 0; i++) {
                result = harden_step(harden, &steps[i]);
                if (result == -ENOENT && steps[i].op == STEP_LANDLOCK_ALLOW)
                        result = 0; /* not every host has each directory of libraries */
        }
        return result;
}

/* An ordinary user's program keeps a capability only as an ambient one. */
static int
keep(uint64_t kept)
{
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        uint32_t low = (uint32_t)kept;
        struct __user_cap_data_struct data[2] = { { low, low, low }, { 0, 0, 0 } };

        if (kept == 0)
                return 0;
        if (syscall(SYS_capset, &head, data) < 0)
                return -errno;
        for (unsigned long cap = 0; cap < 32; cap++)
                if ((kept >> cap & 1) != 0 &&
                    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
                        return -errno;
        return 0;
}

/* What a plan says of a payload, of this program. */
static int
restrict_itself(const struct program *p)
{
        const struct step last[] = {
                { .op = STEP_LANDLOCK },
                { .op = STEP_DROP_CAPS, .number = p->kept },
                { .op = STEP_FILTER, .number = STEP_FILTER_NO_UNIX },
        };
        struct harden harden = { -1, landlock_version(), { -1, false } };
        int result = apply(&harden, limits, sizeof limits / sizeof *limits);

        if (result == 0)
                result = apply(&harden, p->rules, p->rule_count);
        if (result == 0)
                result = apply(&harden, last, 2);
        if (result == 0)
                result = keep(p->kept);
        return result == 0 && !p->has_own_filter ? apply(&harden, last + 2, 1) : result;
}

static void
split(char *text, char *words[WORDS_MAX])
{
        size_t count = 0;

        while (*text != '\0' && count < WORDS_MAX - 1) {
                words[count++] = text;
                text += strcspn(text, "\n");
                if (*text == '\n')
                        *text++ = '\0';
        }
        words[count] = NULL;
}

/* All descriptors of a program are at FIRST_FREE or above before. */
static int
take_descriptors(const struct program *p, int report)
{
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (nothing < 0)
                return -errno;
        for (int fd = 0; fd < STREAM; fd++)
                if (dup2(nothing, fd) < 0)
                        return -errno;
        for (int i = 0; i < GIVEN; i++)
                if (dup2(p->fds[i] >= 0 ? p->fds[i] : STDIN_FILENO, STREAM + i) < 0)
                        return -errno;
        if (dup3(report, REPORT, O_CLOEXEC) < 0)
                return -errno;
        command_close_from(FIRST_FREE);
        return 0;
}

/* Returns only on failure. */
static int
become(const struct program *p, int report)
{
        static char text[PATH_ROOM];
        char *words[WORDS_MAX], *none[] = { NULL };
        int result = take_descriptors(p, report);
        sigset_t empty;

        if (result < 0)
                return result;
        if (p->step->text_len >= sizeof text)
                return -E2BIG;
        memcpy(text, p->step->text, p->step->text_len);
        split(text, words);
        result = restrict_itself(p);
        if (result < 0)
                return result;
        (void)sigemptyset(&empty);
        (void)sigprocmask(SIG_SETMASK, &empty, NULL);
        (void)execve(p->step->path, words, none);
        return -errno;
}

static _Noreturn void
be(const struct program *p, int report)
{
        int result = become(p, report);

        (void)!write(REPORT, &result, sizeof result);
        _exit(BROKEN);
}

/* Where each exec succeeds, nothing is reported. */
static int
hear(int report)
{
        int result = 0;
        ssize_t got;

        do
                got = read(report, &result, sizeof result);
        while (got < 0 && errno == EINTR);
        return got == sizeof result ? result : got == 0 ? 0 : -EIO;
}

/* Moves both out of the way of a program's own. */
static int
lift(int ends[2])
{
        for (int i = 0; i < 2; i++) {
                int fd = fcntl(ends[i], F_DUPFD_CLOEXEC, FIRST_FREE);

                if (fd < 0)
                        return -errno;
                (void)close(ends[i]);
                ends[i] = fd;
        }
        return 0;
}

static int
lift_copy(int fd, int *ret)
{
        *ret = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
        return fd >= 0 && *ret < 0 ? -errno : 0;
}

/*
 * ends[0] listens, as virtiofsd wants it, and ends[1] is connected to it. The name is an abstract
 * one, which the kernel chooses in the box's own network namespace.
 */
static int
pair_to_listen(int ends[2])
{
        struct sockaddr_un at = { .sun_family = AF_UNIX };
        socklen_t len = sizeof at;

        ends[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ends[1] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (ends[0] < 0 || ends[1] < 0 ||
            bind(ends[0], (const struct sockaddr *)&at, sizeof at.sun_family) < 0 ||
            listen(ends[0], 1) < 0 || getsockname(ends[0], (struct sockaddr *)&at, &len) < 0 ||
            connect(ends[1], (const struct sockaddr *)&at, len) < 0)
                return -errno;
        return lift(ends);
}

static int
start(const struct program *p, int report)
{
        pid_t pid = fork();

        if (pid == 0)
                be(p, report);
        return pid < 0 ? -errno : 0;
}

/* virtiofsd holds the other end of *ret_alive, and nobody else does. */
static int
start_share(const struct step *serve, int listener, int report, int *ret_alive)
{
        int alive[2], result;
        struct program share = { .step = serve,
                                 .fds = { listener, -1, -1, -1, -1 },
                                 .rules = share_rules,
                                 .rule_count = sizeof share_rules / sizeof *share_rules,
                                 .kept = SHARE_KEPT,
                                 .has_own_filter = true };

        if (pipe2(alive, O_CLOEXEC) < 0)
                return -errno;
        result = lift(alive);
        share.fds[1] = alive[1];
        if (result == 0)
                result = start(&share, report);
        (void)close(alive[1]);
        *ret_alive = alive[0];
        return result;
}

static int
start_both(const struct step *s, const struct step *serve, int stream, const int lent[BORROWED],
           int report, int *ret_alive)
{
        int share[2] = { -1, -1 }, result = serve ? pair_to_listen(share) : 0;
        const struct program qemu = { .step = s,
                                      .fds = { stream, share[1], lent[0], lent[1], lent[2] },
                                      .rules = qemu_rules,
                                      .rule_count = sizeof qemu_rules / sizeof *qemu_rules };

        if (result == 0)
                result = start(&qemu, report);
        if (result == 0 && serve)
                result = start_share(serve, share[0], report, ret_alive);
        for (int i = 0; i < 2; i++)
                if (share[i] >= 0)
                        (void)close(share[i]);
        return result;
}

/* If one cannot be opened, the box ends, and its descriptors with it. */
int
machine_start(const struct step *s, const struct step *serve, const struct machine_given *given,
              int *ret_alive)
{
        const int asked[BORROWED] = { given->tap, given->monitor, given->saved };
        int stream[2], report[2], result, lent[BORROWED] = { -1, -1, -1 };

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream) < 0 ||
            pipe2(report, O_CLOEXEC) < 0)
                return -errno;
        result = lift(stream);
        if (result == 0)
                result = lift(report);
        for (int i = 0; i < BORROWED && result == 0; i++)
                result = lift_copy(asked[i], &lent[i]);
        if (result == 0)
                result = start_both(s, serve, stream[1], lent, report[1], ret_alive);
        (void)close(stream[1]);
        (void)close(report[1]);
        for (int i = 0; i < BORROWED; i++)
                if (lent[i] >= 0)
                        (void)close(lent[i]);
        if (result == 0)
                result = hear(report[0]);
        (void)close(report[0]);
        if (result == 0)
                return stream[0];
        (void)close(stream[0]);
        return result;
}
