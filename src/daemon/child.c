/*
 * daemon/child.c - starts one process of the daemon.
 *
 * Room: daemon (joining). Touches: processes, fd.
 * Theory: the program is a sealed memory file of Carrel, so no other process can have changed it.
 * PR_SET_PDEATHSIG ends the child with the launcher. The spawner forks the boxes, so they are not
 * affected and keep running.
 */
#include "daemon/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/scoped.h"

#ifndef SYS_execveat
#define SYS_execveat 322
#endif

enum { AWAY = 64, FD_LAST = 1024 };

/*
 * Runs after fork, so it may only use async-signal-safe calls. Moves the descriptors out of the way
 * first, then to their places.
 */
static int
place_descriptors(const struct child_request *r, int *image)
{
        int away[CHILD_FDS_MAX];
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        for (size_t i = 0; i < r->fd_count; i++) {
                away[i] = fcntl(r->fds[i], F_DUPFD_CLOEXEC, AWAY);
                if (away[i] < 0)
                        return -1;
        }
        *image = fcntl(*image, F_DUPFD_CLOEXEC, AWAY);
        if (*image < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
                return -1;
        if (graph_process(r->process)->is_mute && dup2(null, 2) < 0)
                return -1;
        for (size_t i = 0; i < r->fd_count; i++)
                if (dup2(away[i], CHILD_FD_FIRST + (int)i) < 0)
                        return -1;
        return 0;
}

void
child_signals(void)
{
        struct sigaction standard = { .sa_handler = SIG_DFL };
        sigset_t nothing;

        for (int number = 1; number < 32; number++)
                (void)sigaction(number, &standard, NULL);
        (void)sigemptyset(&nothing);
        (void)sigprocmask(SIG_SETMASK, &nothing, NULL);
}

static _Noreturn void
become(const struct child_request *r, int image, char **argv, pid_t parent)
{
        static char *const empty[] = { NULL };
        char *const *environment = r->environment ? r->environment : empty;

        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
                _exit(125);
        child_signals();
        /*
         * A new session has no terminal: Ctrl-C reaches only the launcher, which stops the others
         * in order.
         */
        (void)setsid();
        if (chdir("/") < 0 || place_descriptors(r, &image) < 0)
                _exit(125);
        (void)syscall(SYS_execveat, image, "", argv, environment, AT_EMPTY_PATH);
        _exit(125);
}

int
child_start(const struct child_request *request, pid_t *ret, struct error *e)
{
        const struct graph_process_row *row = graph_process(request->process);
        char *argv[CHILD_WORDS_MAX + 3];
        scoped_fd int image = -1;
        pid_t parent = getpid(), pid;
        size_t argc = 0;

        if (program_open(row->image, &image, e) < 0)
                return -1;
        argv[argc++] = (char *)(uintptr_t)row->program;
        if (row->role && !request->is_without_role)
                argv[argc++] = (char *)(uintptr_t)row->role;
        for (size_t i = 0; i < request->word_count; i++)
                argv[argc++] = (char *)(uintptr_t)request->words[i];
        argv[argc] = NULL;
        pid = fork();
        if (pid < 0)
                return fail_sys(e, ERROR_BACKEND_FAILED, errno, "starting the %s", row->name);
        if (pid == 0)
                become(request, image, argv, parent);
        *ret = pid;
        return 0;
}
