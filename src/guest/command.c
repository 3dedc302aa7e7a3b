/*
 * guest/command.c - one command, from a message to a running process.
 *
 * Room: guest (program). Touches: processes, fd.
 * Theory: until it executes, the child has the payload's uid, and every process with that uid can
 * stop it. So pid 1 does not block in the kernel until the child executes, as vfork(2) does. A
 * descriptor that closes on exec signals the moment. The child still shares pid 1's memory, so that
 * no page is copied, on its own stack and with its own errno (thread area). If that is not
 * possible, or another child uses it already, it is a fork. The child closes everything except 0,
 * 1, 2 before it enters the working directory, so that a name such as /proc/self/fd/3 leads nowhere
 * (A03). It gives the payload fresh signals, mask, umask and niceness (C16).
 */
#include "guest/command.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { STACK_LEN = 64 * 1024, STACK_USUAL = 8 << 20, PATH_ROOM = 4096, FD_LAST = 4096 };
enum { USUAL_MS = 5 }; /* usual time until a command has executed */

/*
 * A thread area contains errno, and the words that the compiler and the C library expect at its own
 * address.
 */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1 /* clang's own way to report it */
#endif
#endif
#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(__SANITIZE_ADDRESS__)
#define CAN_SHARE 1
#else
/* a sanitizer keeps more data there than this area can hold */
#define CAN_SHARE 0
#endif

struct thread_area {
        _Alignas(64) unsigned char below[4096];
        void *own[3]; /* 0 and 2: its address */
        unsigned char above[4096];
};

struct sharing { /* the data of a child that shares pid 1's memory */
        const struct command *command;
        struct command_attempt *attempt;
        int report;
};

int
command_read(const struct wire_message *m, char *body, char **pointers, size_t room,
             struct command *ret)
{
        int result = wire_command_read(body, m->len, pointers, room, &ret->head);

        if (result < 0)
                return result;
        ret->argv = pointers;
        ret->envp = pointers + ret->head.argc + 1;
        ret->cwd = ret->envp[ret->head.envc + 1];
        ret->path = "/usr/local/bin:/usr/bin:/bin";
        for (size_t i = 0; i < ret->head.envc; i++)
                if (strncmp(ret->envp[i], "PATH=", 5) == 0)
                        ret->path = ret->envp[i] + 5;
        ret->group = -1;
        return 0;
}

void
command_close_from(unsigned first)
{
        if (syscall(SYS_close_range, first, ~0u, 0) == 0)
                return;
        for (int fd = (int)first; fd < FD_LAST; fd++)
                (void)close(fd);
}

/*
 * Raises limits of the caller that a process may raise by itself. Limits of the plan are both soft
 * and hard.
 */
static void
freshen_limits(void)
{
        static const int resources[] = { RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE,
                                         RLIMIT_NPROC };
        struct rlimit now;

        for (size_t i = 0; i < sizeof resources / sizeof *resources; i++)
                if (syscall(SYS_prlimit64, 0, resources[i], NULL, &now) == 0 &&
                    now.rlim_cur != now.rlim_max) {
                        now.rlim_cur = now.rlim_max;
                        (void)syscall(SYS_prlimit64, 0, resources[i], &now, NULL);
                }
        if (syscall(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &now) == 0 &&
            now.rlim_cur != STACK_USUAL && now.rlim_max >= STACK_USUAL) {
                now.rlim_cur = STACK_USUAL;
                (void)syscall(SYS_prlimit64, 0, RLIMIT_STACK, &now, NULL);
        }
}

bool
command_is_fresh(const struct command *c)
{
        return (c->head.skip_resets & WIRE_RESET_SIGNALS) == 0 &&
               (c->head.flags & WIRE_EXEC_AS_CALLER) == 0;
}

void
command_freshen_inherited(void)
{
        static unsigned is_done;
        struct sigaction standard = { .sa_handler = SIG_DFL };

        if (is_done)
                return;
        is_done = 1;
        for (int number = 1; number < NSIG; number++)
                (void)sigaction(number, &standard, NULL);
        freshen_limits();
}

void
command_freshen(void)
{
        static unsigned is_done;

        if (is_done)
                return;
        is_done = 1;
        command_freshen_inherited();
        (void)umask(022);
        (void)setpriority(PRIO_PROCESS, 0, 0);
        (void)personality(0);
}

static void
unblock_signals(void)
{
        sigset_t none;

        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int
take_stdio(const struct command *c)
{
        int high[3];

        for (int i = 0; i < 3; i++) /* away from 0..2 first, so that no copy overwrites a
                                     * source */
                if ((high[i] = c->stdio[i] > 2 ? c->stdio[i] : fcntl(c->stdio[i], F_DUPFD, 3)) < 0)
                        return -errno;
        for (int i = 0; i < 3; i++)
                if (dup2(high[i], i) < 0)
                        return -errno;
        return 0;
}

int
command_enter(const char *cwd)
{
        char real[PATH_ROOM];
        long len;

        if (chdir(cwd) < 0)
                return -errno;
        len = syscall(SYS_getcwd, real, sizeof real);
        /* "(unreachable)" is not inside the sandbox */
        return len < 0 ? -errno : real[0] == '/' ? 0 : -ENOENT;
}

static void
run_script(const struct command *c, const char *path)
{
        char *argv[64] = { (char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t)path };
        size_t i;

        for (i = 1; c->argv[i] && i + 2 < sizeof argv / sizeof *argv; i++)
                argv[i + 1] = c->argv[i];
        if (!c->argv[i])
                (void)execve("/bin/sh", argv, c->envp);
}

/* A program of another machine is not a script. */
static bool
is_elf(const char *path)
{
        char head[SELFMAG];
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        bool is = fd >= 0 && read(fd, head, sizeof head) == SELFMAG &&
                  memcmp(head, ELFMAG, SELFMAG) == 0;

        if (fd >= 0)
                (void)close(fd);
        return is;
}

/* The kernel uses one errno for several causes; outcome/lookup.h interprets them. */
static int
try_one(const struct command *c, const char *path)
{
        struct stat st;

        (void)execve(path, c->argv, c->envp);
        switch (errno) {
        case ENOEXEC:
                if (!is_elf(path))
                        run_script(c, path);
                return -ENOEXEC;
        case ENOENT:
                return stat(path, &st) == 0 ? -ELIBACC : -ENOENT;
        case EACCES:
                return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? -EISDIR : -EACCES;
        default:
                return -errno;
        }
}

/* Nothing has this name: found out for a quarter of what execve(2) and the stat after it cost. */
static bool
is_missing(const char *path)
{
        struct stat st;

        return stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

/*
 * Like execvp(3): a name with a slash is a path; otherwise PATH is searched. A file without
 * permission or without its interpreter is reported only after the search.
 */
int
command_execute(const struct command *c)
{
        const char *name = c->argv[0];
        int result = -ENOENT, tried;
        char path[PATH_ROOM];

        if (strchr(name, '/') != NULL || (c->head.flags & WIRE_EXEC_NO_PATH) != 0)
                return try_one(c, name);
        for (const char *at = c->path; name[0] != '\0'; at++) {
                size_t len = strcspn(at, ":");

                if (len > 0 && len + strlen(name) + 2 <= sizeof path) {
                        memcpy(path, at, len);
                        path[len] = '/';
                        memcpy(path + len + 1, name, strlen(name) + 1);
                        tried = is_missing(path) ? -ENOENT : try_one(c, path);
                        if (tried == -EACCES || tried == -ELIBACC)
                                result = tried;
                        else if (tried != -ENOENT && tried != -ENOTDIR && tried != -EISDIR)
                                return tried;
                }
                at += len;
                if (*at == '\0')
                        break;
        }
        return result;
}

int
command_prepare(const struct command *c, int keep)
{
        /* first, so that all further work is counted, and is killed with the group */
        if (c->group >= 0 && write(c->group, "0", 1) != 1)
                return -errno;
        /* as the caller's child would; and it ends with the guest, as in a pid namespace */
        if ((c->head.flags & WIRE_EXEC_AS_CALLER) != 0
                    ? prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0
                    : setsid() < 0)
                return -errno;
        return command_dress(c, keep);
}

int
command_dress(const struct command *c, int keep)
{
        struct rlimit cpu = { c->head.cpu_seconds, c->head.cpu_seconds + 1 };
        int result = take_stdio(c);

        if (result < 0)
                return result;
        if ((c->head.flags & WIRE_EXEC_TTY) != 0 && ioctl(0, TIOCSCTTY, 0) < 0)
                return -errno;
        if (c->head.cpu_seconds > 0 && setrlimit(RLIMIT_CPU, &cpu) < 0)
                return -errno;
        if (keep > COMMAND_KEPT && dup2(keep, COMMAND_KEPT) < 0)
                return -errno;
        if ((c->head.skip_resets & WIRE_RESET_FDS) == 0)
                command_close_from(keep < 0 ? COMMAND_KEPT : COMMAND_KEPT + 1);
        if ((c->head.skip_resets & WIRE_RESET_SIGNALS) == 0)
                unblock_signals();
        return 0;
}

/*
 * Returns only if execution failed, with the reason in *ret. `report` (-1: none) is closed by exec.
 */
static void
become(const struct command *c, struct command_attempt *ret, int *report)
{
        ret->stage = WIRE_STAGE_PREPARE;
        ret->sys = -command_prepare(c, *report);
        if (ret->sys != 0)
                return;
        if (*report > COMMAND_KEPT)
                *report = COMMAND_KEPT;
        if (*report >= 0 && fcntl(*report, F_SETFD, FD_CLOEXEC) < 0) {
                ret->sys = errno;
                return;
        }
        ret->stage = WIRE_STAGE_DIRECTORY;
        if ((c->head.flags & WIRE_EXEC_AS_CALLER) == 0)
                ret->sys = -command_enter(c->cwd);
        if (ret->sys != 0)
                return;
        ret->stage = WIRE_STAGE_LOOKUP;
        ret->sys = -command_execute(c);
}

static int
share(void *argument)
{
        const struct sharing *s = argument;
        int report = s->report;

        become(s->command, s->attempt, &report);
        _exit(127);
}

static int
open_report(int pair[2], const struct command *c)
{
        if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        if (command_is_fresh(c))
                command_freshen();
        return 0;
}

static pid_t
close_report(int pair[2], pid_t pid, int *ret_report)
{
        (void)close(pair[1]);
        if (pid < 0)
                (void)close(pair[0]);
        else
                *ret_report = pair[0];
        return pid;
}

pid_t
command_share(const struct command *c, struct command_attempt *ret, int *ret_report)
{
        static _Alignas(16) char stack[STACK_LEN];
        static struct thread_area area;
        static struct sharing s;
        int pair[2], result = CAN_SHARE ? open_report(pair, c) : -ENOTSUP;
        pid_t pid;

        if (result < 0)
                return result;
        area.own[0] = area.own[2] = area.own;
        *ret = (struct command_attempt){ 0, WIRE_STAGE_SPAWN };
        s = (struct sharing){ c, ret, pair[1] };
        pid = clone(share, stack + sizeof stack, CLONE_VM | CLONE_SETTLS | SIGCHLD, &s, NULL,
                    area.own);
        return close_report(pair, pid < 0 ? -errno : pid, ret_report);
}

pid_t
command_fork(const struct command *c, int *ret_report)
{
        struct command_attempt a = { 0, WIRE_STAGE_SPAWN };
        int pair[2], report, result = open_report(pair, c);
        pid_t pid;

        if (result < 0)
                return result;
        pid = fork();
        if (pid == 0) {
                report = pair[1];
                become(c, &a, &report);
                (void)!write(report, &a, sizeof a);
                _exit(127);
        }
        return close_report(pair, pid < 0 ? -errno : pid, ret_report);
}

/*
 * The child has executed or ended when no process holds the other end any more. This also handles a
 * stop that came before.
 */
static void
wait_awake(pid_t pid, int report)
{
        struct pollfd fds[2] = { { report, POLLIN, 0 }, { -1, POLLIN, 0 } };
        struct signalfd_siginfo drained;
        siginfo_t info = { .si_pid = 0 };
        sigset_t child;

        if (poll(fds, 1, USUAL_MS) != 0)
                return;
        (void)sigemptyset(&child);
        (void)sigaddset(&child, SIGCHLD);
        fds[1].fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
        while (fds[0].revents == 0) {
                if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == pid)
                        (void)kill(pid, SIGCONT);
                info.si_pid = 0;
                if (poll(fds, 2, fds[1].fd < 0 ? USUAL_MS : -1) < 0)
                        break;
                if (fds[1].revents != 0)
                        (void)!read(fds[1].fd, &drained, sizeof drained);
        }
        if (fds[1].fd >= 0)
                (void)close(fds[1].fd);
}

pid_t
command_start(const struct command *c, enum wire_exec_stage *ret_stage)
{
        struct command_attempt a = { 0, WIRE_STAGE_SPAWN };
        int report = -1;
        pid_t pid = command_share(c, &a, &report);

        if (pid == -ENOTSUP)
                pid = command_fork(c, &report);
        if (pid > 0) {
                wait_awake(pid, report);
                (void)!read(report, &a, sizeof a); /* of a fork: the reason */
                (void)close(report);
        }
        *ret_stage = (enum wire_exec_stage)a.stage;
        return pid > 0 && a.sys != 0 ? -a.sys : pid;
}
