/*
 * host/attempt_self.c - the doctor tries what a process applies to itself: filters, rights, limits,
 * descriptors.
 *
 * Room: host (acting). Touches: the calling child alone.
 * Knows how to see that each really works. Knows nothing of tiers.
 */
#include "host/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"

#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

enum { FILES_LIMIT = 16, HIGH_FD = 100, CHILD_STATUS = 7 };

enum attempt_result
attempt_landlock(struct attempt *a)
{
        struct landlock_ruleset_attr attr = { .handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE |
                                                                   LANDLOCK_ACCESS_FS_READ_DIR };
        scoped_fd int rules = -1;
        scoped_fd int before = -1;
        scoped_fd int after = -1;

        rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
        if (rules < 0)
                return attempt_fails(a, errno, "the kernel has none, or it is not switched on");
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return attempt_fails(a, errno, "no_new_privs");
        before = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (syscall(SYS_landlock_restrict_self, rules, 0) < 0)
                return attempt_fails(a, errno, "applying rules is refused");
        after = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (before < 0 || after >= 0 || errno != EACCES)
                return attempt_fails(a, 0, "its rules were applied but did not hold");
        return attempt_works(a, "a denied open is denied (ABI %u)", a->facts->landlock_abi);
}

enum attempt_result
attempt_seccomp(struct attempt *a)
{
        struct sock_filter code[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = { .len = sizeof code / sizeof *code, .filter = code };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return attempt_fails(a, errno, "no_new_privs");
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
                return attempt_fails(a, errno, "a filter is refused");
        if (syscall(SYS_getppid) >= 0 || errno != EXDEV)
                return attempt_fails(a, 0, "a filter was installed but does not answer");
        return attempt_works(a, "a filter answers");
}

enum attempt_result
attempt_no_new_privs(struct attempt *a)
{
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return attempt_fails(a, errno, "cannot be set");
        if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
                return attempt_fails(a, 0, "set, but not in force");
        return attempt_works(a, "set and in force");
}

enum attempt_result
attempt_rlimit(struct attempt *a)
{
        struct rlimit files = { FILES_LIMIT, FILES_LIMIT }, core = { 0, 0 };

        if (setrlimit(RLIMIT_NOFILE, &files) < 0 || setrlimit(RLIMIT_CORE, &core) < 0)
                return attempt_fails(a, errno, "limits cannot be set");
        for (int i = 0; i <= FILES_LIMIT; i++)
                if (fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) < 0)
                        return errno == EMFILE
                                       ? attempt_works(a, "open files end at the limit")
                                       : attempt_fails(a, errno, "descriptors cannot be copied");
        return attempt_fails(a, 0, "a limit on open files does not hold");
}

enum attempt_result
attempt_pidfd(struct attempt *a)
{
        scoped_fd int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

        if (fd < 0)
                return attempt_fails(a, errno, "pidfd_open");
        if (syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) < 0)
                return attempt_fails(a, errno, "pidfd_send_signal");
        return attempt_works(a, "a process is held and signalled by descriptor");
}

enum attempt_result
attempt_openat2(struct attempt *a)
{
        struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH };
        scoped_fd int dir = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (dir < 0)
                return attempt_fails(a, errno, "/proc/self");
        if (syscall(SYS_openat2, dir, "..", &how, sizeof how) >= 0)
                return attempt_fails(a, 0, "a path left its directory");
        if (errno != EXDEV)
                return attempt_fails(a, errno, "openat2");
        return attempt_works(a, "a path that leaves its directory is refused");
}

/* The kernel's structure in its first version: eight words. */
struct clone_words {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

enum attempt_result
attempt_clone3(struct attempt *a)
{
        struct clone_words words = { .exit_signal = SIGCHLD };
        long pid = syscall(SYS_clone3, &words, sizeof words);
        int status = 0;

        if (pid < 0)
                return attempt_fails(a, errno, "clone3");
        if (pid == 0)
                _exit(CHILD_STATUS);
        if (waitpid((pid_t)pid, &status, 0) < 0 || !WIFEXITED(status) ||
            WEXITSTATUS(status) != CHILD_STATUS)
                return attempt_fails(a, 0, "its child did not end as told");
        return attempt_works(a, "a child is made");
}

enum attempt_result
attempt_close_range(struct attempt *a)
{
        if (dup2(STDIN_FILENO, HIGH_FD) < 0)
                return attempt_fails(a, errno, "descriptors cannot be copied");
        if (syscall(SYS_close_range, HIGH_FD, HIGH_FD, 0) < 0)
                return attempt_fails(a, errno, "close_range");
        if (fcntl(HIGH_FD, F_GETFD) >= 0)
                return attempt_fails(a, 0, "a descriptor stayed open");
        return attempt_works(a, "descriptors are closed in one call");
}
