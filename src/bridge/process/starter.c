/*
 * bridge/process/starter.c - the process that starts the provider's program for carrel-bridge.
 *
 * Room: bridge/process (program). Touches: processes, fd.
 * Theory: a filter of system calls is inherited, and a provider's program needs calls that
 * carrel-bridge does not. So a process without a filter starts it, and does nothing else. It does
 * not wait for the program: the kernel removes it, and its pipes say that it has ended.
 */
#include "bridge/process/starter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/message.h"

enum { ENVIRONMENT_MAX = 64, BROKEN = 1 };

struct started {
        int32_t pid, sys; /* sys: an errno, 0: started */
};

/* -- its own process --------------------------------------------------------------------------- */

static void
answer(int fd, char *const *argv, char *key)
{
        char *envp[ENVIRONMENT_MAX];
        struct provider_process process = { 0, -1, -1 };
        struct started said = { 0 };
        size_t count = 0;
        struct error e;

        for (char **item = environ; *item && count < ENVIRONMENT_MAX - 2; item++)
                envp[count++] = *item;
        if (key)
                envp[count++] = key;
        envp[count] = NULL;
        if (provider_spawn(&process, argv, envp, &e) < 0)
                said.sys = e.sys != 0 ? e.sys : EIO;
        said.pid = process.pid;
        if (wire_send(fd, WIRE_SPAWNED, &said, sizeof said,
                      (const int[]){ process.to, process.from }, said.sys == 0 ? 2 : 0) < 0)
                _exit(BROKEN);
        if (said.sys != 0)
                return;
        (void)close(process.to);
        (void)close(process.from);
}

static _Noreturn void
serve(int fd, pid_t parent, char *const *argv)
{
        static char body[WIRE_BODY_MAX + 1];
        struct sigaction ignored = { .sa_handler = SIG_IGN };
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        struct wire_message m;

        (void)sigaction(SIGCHLD, &ignored, NULL); /* no child becomes a zombie */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent || null < 0 ||
            dup2(null, STDIN_FILENO) < 0) /* the socket to the box is not for it */
                _exit(BROKEN);
        while (wire_receive(fd, 1, &m, body, WIRE_BODY_MAX) > 0 && m.kind == WIRE_EXEC) {
                body[m.len] = '\0';
                answer(fd, argv, m.len > 0 ? body : NULL);
                explicit_bzero(body, m.len);
                wire_message_close(&m);
        }
        _exit(0);
}

int
starter_fork(char *const *argv, int *ret_fd)
{
        pid_t self = getpid(), pid;
        int ends[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
                return -1;
        pid = fork();
        if (pid == 0) {
                (void)close(ends[0]);
                serve(ends[1], self, argv);
        }
        (void)close(ends[1]);
        if (pid < 0) {
                (void)close(ends[0]);
                return -1;
        }
        *ret_fd = ends[0];
        return 0;
}

/* -- carrel-bridge ----------------------------------------------------------------------------- */

int
starter_start(int fd, const char *key, struct provider_process *ret, struct error *e)
{
        _Alignas(8) struct started said;
        struct wire_message m = { .fd_count = 0 };
        int result = wire_send(fd, WIRE_EXEC, key, key ? strlen(key) : 0, NULL, 0);

        if (result == 0)
                result = wire_receive(fd, 1, &m, &said, sizeof said);
        if (result == 1 && (m.kind != WIRE_SPAWNED || m.len != sizeof said))
                result = -EPROTO;
        if (result == 1 && said.sys != 0)
                result = -said.sys;
        else if (result == 1 && m.fd_count != 2)
                result = -EPROTO;
        if (result != 1) {
                wire_message_close(&m);
                return fail_sys(e, ERROR_BACKEND_FAILED, result < 0 ? -result : EPIPE,
                                "starting the provider's program");
        }
        *ret = (struct provider_process){ said.pid, m.fds[0], m.fds[1] };
        return 0;
}
