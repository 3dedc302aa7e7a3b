/*
 * cli/image_guard.c - an import that is interrupted leaves nothing behind.
 *
 * Room: cli (joining). Touches: processes, fd (the store), standard error.
 *
 *     image_guard --fork--> the import --> carrel-unpack, skopeo, mkfs.erofs
 *          | a signal ended it, and all of its children have ended too
 *          +-------fork--> gives up its rights, erases what is left
 *
 * Theory: an import may be killed at any instruction, so it cannot clean up itself. Its children
 * are waited for as well (subreaper): they could write after the erasure.
 */
#include "cli/image_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "image/collect.h"
#include "image/store.h"
#include "seal/landlock.h"
#include "seal/seal.h"

enum { ERASED, NOT_ERASED, ARENA_MAX = 128 << 20 };

/* Until the child has ended; other signals go to it. Its wait status. */
static int
wait_for(pid_t pid, const sigset_t *signals)
{
        int status, signal;

        while (waitpid(pid, &status, WNOHANG) != pid)
                if (sigwait(signals, &signal) == 0 && signal != SIGCHLD)
                        (void)kill(pid, signal);
        return status;
}

/* A program that the import started ends when the import has. A second Ctrl-C does not wait. */
static void
wait_for_the_rest(const sigset_t *signals)
{
        static const struct timespec no_time;
        int signal = SIGCHLD;
        pid_t pid = 1;

        while (sigtimedwait(signals, NULL, &no_time) > 0) /* those that ended the import */
                ;
        while (signal == SIGCHLD && pid >= 0) {
                pid = waitpid(-1, NULL, WNOHANG);
                if (pid == 0 && sigwait(signals, &signal) != 0)
                        return;
        }
}

static _Noreturn void
be_eraser(const char *state)
{
        struct image_store s = { -1, -1, -1, -1, -1, -1 };
        struct seal_place place = { LANDLOCK_FS_ALL & ~(unsigned)LANDLOCK_EXECUTE, -1 };
        struct image_collected collected;
        struct arena arena;
        struct error e;

        if (image_store_look(state, &s, &e) < 0)
                _exit(e.code == ERROR_IMAGE_NOT_FOUND ? ERASED : NOT_ERASED);
        place.fd = s.dir;
        arena_init(&arena, ARENA_MAX);
        if (seal_enter(SEAL_IMPORT, &place, 1, &e) < 0 ||
            image_collect(&s, &arena, &collected, &e) < 0 || collected.is_busy)
                _exit(NOT_ERASED);
        _exit(ERASED);
}

static bool
erase_in_child(const char *state)
{
        pid_t pid = fork();
        int status = -1;

        if (pid == 0)
                be_eraser(state);
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == ERASED;
}

static _Noreturn void
end_by(int signal, const sigset_t *before)
{
        (void)sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
        (void)sigprocmask(SIG_SETMASK, before, NULL);
        (void)raise(signal);
        _exit(128 + signal);
}

int
image_guard(const char *state, int (*work)(void *ctx), void *ctx)
{
        sigset_t signals, before;
        pid_t parent = getpid(), pid;
        int status;

        (void)sigemptyset(&signals);
        (void)sigaddset(&signals, SIGINT);
        (void)sigaddset(&signals, SIGTERM);
        (void)sigaddset(&signals, SIGHUP);
        (void)sigaddset(&signals, SIGCHLD);
        (void)sigprocmask(SIG_BLOCK, &signals, &before);
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        (void)fflush(NULL);
        pid = fork();
        if (pid <= 0) {
                (void)sigprocmask(SIG_SETMASK, &before, NULL);
                if (pid == 0 &&
                    (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent))
                        return 128 + SIGKILL;
                return work(ctx);
        }
        status = wait_for(pid, &signals);
        if (WIFEXITED(status))
                return WEXITSTATUS(status);
        wait_for_the_rest(&signals);
        (void)fprintf(stderr, "%scarrel: interrupted, nothing was imported%s\n",
                      isatty(STDERR_FILENO) ? "\n" : "",
                      erase_in_child(state) ? "" : "; `carrel image prune` removes what is left");
        end_by(WTERMSIG(status), &before);
}
