/*
 * maker/machine.c - starts QEMU.
 *
 * Room: maker (program). Touches: files of the box's root, processes.
 * Theory: a payload that takes over the machine's kernel attacks QEMU, and one that takes over QEMU
 * is a process of this box: in its namespaces, without a network, a capability or a file to write,
 * behind the filter of a payload. QEMU gets one descriptor, the stream to pid 1 inside. Source of
 * the archive's format: Linux, Documentation/driver-api/early-userspace/buffer-format.rst.
 */
#include "maker/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/command.h"
#include "guest/harden.h"
#include "plan/request.h"
#include "seal/landlock.h"

enum {
        PATH_ROOM = 4096,
        HEAD_ROOM = 256,
        PART = 1 << 20,
        ALIGNED = 4,
        WORDS_MAX = 64,
        STREAM = 3, /* as the plan's arguments say */
        BROKEN = 127,
        FILES_MAX = 64,
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

int
machine_write_first(int root, const struct step *s)
{
        struct archive a = { .out = openat(root, s->path + 1,
                                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                           0444) };
        int result = a.out < 0 ? -errno : 0;

        if (result == 0)
                result = add_file(&a, "init", 0555, "/proc/self/exe");
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

/* -- QEMU -------------------------------------------------------------------------------------- */

/* What a plan says of a payload, of QEMU; limits that are its own. */
static int
restrict_itself(void)
{
        const struct step steps[] = {
                { .op = STEP_RLIMIT, .number = RLIMIT_CORE, .number2 = 1 },
                { .op = STEP_RLIMIT, .number = RLIMIT_RTPRIO, .number2 = 0 },
                { .op = STEP_RLIMIT, .number = RLIMIT_NICE, .number2 = 0 },
                { .op = STEP_RLIMIT, .number = RLIMIT_MEMLOCK, .number2 = 8 << 20 },
                { .op = STEP_RLIMIT, .number = RLIMIT_MSGQUEUE, .number2 = 0 },
                { .op = STEP_RLIMIT, .number = RLIMIT_FSIZE, .number2 = 0 },
                { .op = STEP_RLIMIT, .number = RLIMIT_NOFILE, .number2 = FILES_MAX },
                { .op = STEP_RLIMIT, .number = RLIMIT_NPROC, .number2 = TASKS_MAX },
                { .op = STEP_IDENTITY, .number = PLAN_UID, .number2 = PLAN_GID },
                { .op = STEP_NO_NEW_PRIVS },
                { .op = STEP_LANDLOCK_ALLOW, .path = "/", .number = ACCESS_READ },
                { .op = STEP_LANDLOCK_ALLOW, .path = "/dev/null", .number = ACCESS_DEVICE },
                { .op = STEP_LANDLOCK },
                { .op = STEP_DROP_CAPS },
                { .op = STEP_FILTER, .number = STEP_FILTER_NO_UNIX },
        };
        struct harden harden = { -1, landlock_version(), { -1, false } };
        int result = 0;

        for (size_t i = 0; i < sizeof steps / sizeof *steps && result == 0; i++)
                result = harden_step(&harden, &steps[i]);
        return result;
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

/* Returns only on failure. `report`, which exec closes, is the first descriptor of its own. */
static int
become_qemu(const struct step *s, char *text, int stream, int report)
{
        char *words[WORDS_MAX], *none[] = { NULL };
        int nothing = open("/dev/null", O_RDWR | O_CLOEXEC), result;
        sigset_t empty;

        (void)sigemptyset(&empty);
        split(text, words);
        if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
            dup2(nothing, STDERR_FILENO) < 0 || dup2(stream, STREAM) < 0 || report != STREAM + 1)
                return errno != 0 ? -errno : -EBADF;
        command_close_from(STREAM + 2);
        result = restrict_itself();
        if (result < 0)
                return result;
        (void)sigprocmask(SIG_SETMASK, &empty, NULL);
        (void)execve(s->path, words, none);
        return -errno;
}

/* Where exec succeeds, nothing is reported. */
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

/* Moves both out of the way of the standard streams and of STREAM. */
static int
lift(int ends[2])
{
        for (int i = 0; i < 2; i++) {
                int fd = fcntl(ends[i], F_DUPFD_CLOEXEC, STREAM + 2);

                if (fd < 0)
                        return -errno;
                (void)close(ends[i]);
                ends[i] = fd;
        }
        return 0;
}

static _Noreturn void
be_qemu(const struct step *s, char *text, int stream, int report)
{
        int result = dup3(report, STREAM + 1, O_CLOEXEC) < 0
                             ? -errno
                             : become_qemu(s, text, stream, STREAM + 1);

        (void)!write(STREAM + 1, &result, sizeof result);
        _exit(BROKEN);
}

int
machine_start(const struct step *s)
{
        static char text[PATH_ROOM];
        int stream[2], report[2], result;
        pid_t pid;

        if (s->text_len >= sizeof text)
                return -E2BIG;
        memcpy(text, s->text, s->text_len);
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream) < 0)
                return -errno;
        if (pipe2(report, O_CLOEXEC) < 0 || lift(stream) < 0 || lift(report) < 0)
                return -errno; /* the box ends, and its descriptors with it */
        pid = fork();
        if (pid == 0)
                be_qemu(s, text, stream[1], report[1]);
        (void)close(stream[1]);
        (void)close(report[1]);
        result = pid < 0 ? -errno : hear(report[0]);
        (void)close(report[0]);
        if (result == 0)
                return stream[0];
        (void)close(stream[0]);
        return result;
}
