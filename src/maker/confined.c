/*
 * maker/confined.c - reads files that a payload wrote, in a child that can only return an answer.
 *
 * Room: maker (program). Touches: a child of its own, a pipe.
 * Theory: the child has only a copy of the maker's memory, and its answer is bytes of limited size.
 */
#include "maker/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void
answer(confined_work work, const void *about, void *ret, size_t room, int pipe)
{
        size_t len = 0;

        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0)
                len = work(about, ret);
        if (len > 0 && len <= room)
                (void)!write(pipe, ret, len);
        for (;;)
                (void)syscall(SYS_exit, 0);
}

ssize_t
confined_ask(confined_work work, const void *about, void *ret, size_t room)
{
        ssize_t got = 0, len = 0;
        int fds[2], status;
        pid_t pid;

        if (room > CONFINED_MAX)
                return -EINVAL;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        pid = fork();
        if (pid == 0)
                answer(work, about, ret, room, fds[1]);
        if (pid < 0)
                got = -errno;
        (void)close(fds[1]);
        while (pid > 0 && (size_t)len < room &&
               (got = read(fds[0], (char *)ret + len, room - (size_t)len)) > 0)
                len += got;
        (void)close(fds[0]);
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
                continue;
        return got < 0 ? (pid < 0 ? got : -EIO) : len;
}
