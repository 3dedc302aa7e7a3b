/*
 * judge/process/main.c - carrel-judge: reads commands with the grammar of a shell, and judges them
 * by lists.
 *
 * Room: judge/process (program). Touches: fd, this process and its children.
 * Theory: with --socket-fd it is the judge of one command. With --keeper-fd it reads no text: it
 * forks a child for each socket that the keeper sends, so that a command can only harm its own
 * judgement. A child has one second of CPU time, and the asker denies after two seconds.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sanitized.h"
#include "base/scoped.h"
#include "judge/process/judging.h"
#include "loop/startup.h"
#include "seal/seal.h"
#include "wire/judge.h"
#include "wire/message.h"

enum { MEMORY_MAX = 256 << 20, BROKEN = 125 };

/* Sets all limits that the kernel has for a process without files. */
static int
limit(struct error *e)
{
        struct rlimit cpu = { JUDGE_CPU_S, JUDGE_CPU_S + 1 }, memory = { MEMORY_MAX, MEMORY_MAX },
                      none = { 0, 0 };

        if (setrlimit(RLIMIT_CPU, &cpu) < 0 || setrlimit(RLIMIT_FSIZE, &none) < 0 ||
            (!IS_SANITIZED && setrlimit(RLIMIT_AS, &memory) < 0))
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "limiting a judgement");
        return 0;
}

static int
judge_one(int socket, struct error *e)
{
        if (limit(e) < 0 || seal_enter(SEAL_JUDGING, NULL, 0, e) < 0)
                return -1;
        judging_serve(socket);
        return 0;
}

static _Noreturn void
become_child(int keeper, int socket)
{
        struct error e;

        (void)close(keeper);
        _exit(judge_one(socket, &e) < 0 ? BROKEN : 0);
}

static int
serve(int keeper, struct error *e)
{
        struct wire_message m;
        int result;

        if (seal_enter(SEAL_JUDGE, NULL, 0, e) < 0)
                return -1;
        for (;;) {
                result = wire_receive(keeper, 1, &m, NULL, 0);
                if (result == -EINTR)
                        continue;
                if (result <= 0)
                        return 0;
                /* a child that cannot be made closes the socket, and the keeper denies */
                if (m.kind == WIRE_JUDGE && m.fd_count == 1 && fork() == 0)
                        become_child(keeper, m.fds[0]);
                wire_message_close(&m);
        }
}

int
main(int argc, char **argv)
{
        static const struct startup_option options[] = {
                { .name = "--keeper-fd", .kind = STARTUP_FD, .offset = 0 },
                { .name = "--socket-fd", .kind = STARTUP_FD, .offset = sizeof(int) },
        };
        struct sigaction ignore = { .sa_handler = SIG_IGN };
        int fds[2] = { -1, -1 }, result = -1;
        struct error e;

        (void)prctl(PR_SET_NAME, "carrel-judge", 0, 0, 0); /* instead of the memfd's name */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void)sigaction(SIGPIPE, &ignore, NULL);
        (void)sigaction(SIGCHLD, &ignore, NULL); /* children are not awaited */
        /* it ends with its keeper, which would take an earlier end for a failure */
        (void)sigaction(SIGTERM, &ignore, NULL);
        (void)sigaction(SIGINT, &ignore, NULL);
        if (startup_read(options, 2, argc, argv, fds, &e) == 0)
                result = fds[0] >= 0   ? serve(fds[0], &e)
                         : fds[1] >= 0 ? judge_one(fds[1], &e)
                                       : fail(&e, ERROR_INVALID_ARGUMENT, "it is not for people");
        if (result == 0)
                return 0;
        (void)fprintf(stderr, "carrel-judge: %s\n", e.message);
        return BROKEN;
}
