/*
 * cli/trial_child.c - runs one command of carrel in a child, with a deadline.
 *
 * Room: cli (joining). Touches: processes, fd, signals of its own.
 * Theory: the child ends with this process. What it writes is read until it ends, so it never
 * waits for this process, and its end is the end of its standard error.
 */
#include "cli/trial_child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "clock/clock.h"

enum { NOT_STARTED = 125, LOOK_MS = 1000, BEFORE_SHOWN_MS = 1000 };

static volatile sig_atomic_t stopped_by;
static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

static void
note(int signal)
{
        stopped_by = signal;
}

void
trial_child_catch(void)
{
        const struct sigaction caught = { .sa_handler = note };

        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
                (void)sigaction(signals[i], &caught, NULL);
}

void
trial_child_release(void)
{
        const struct sigaction standard = { .sa_handler = SIG_DFL };

        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
                (void)sigaction(signals[i], &standard, NULL);
        if (stopped_by != 0)
                (void)raise(stopped_by);
}

static _Noreturn void
become(const struct trial_child *c, int out)
{
        char *argv[TRIAL_CHILD_WORDS + 1];
        int count = 0, null = open("/dev/null", O_RDWR | O_CLOEXEC);
        const struct sigaction standard = { .sa_handler = SIG_DFL };

        (void)setpgid(0, 0);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
                (void)sigaction(signals[i], &standard, NULL);
        for (; count < TRIAL_CHILD_WORDS && c->words[count]; count++)
                argv[count] = (char *)(uintptr_t)c->words[count];
        argv[count] = NULL;
        if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
            dup2(out, STDERR_FILENO) < 0 || (c->state && setenv("CARREL_STATE", c->state, 1) < 0))
                _exit(NOT_STARTED);
        _exit(c->command->run(count, argv));
}

static void
show(const struct trial_child *c, uint64_t begun_ms, bool *is_shown)
{
        uint64_t now = clock_boot_ms();

        if (!c->label || now - begun_ms < BEFORE_SHOWN_MS || !isatty(STDERR_FILENO))
                return;
        *is_shown = true;
        (void)fprintf(stderr, "\r%s: %" PRIu64 " s, at most %" PRIu64 " s ", c->label,
                      (now - begun_ms) / 1000, c->deadline_ms / 1000);
        (void)fflush(stderr);
}

/* 0 at its end; -1: `words` may be incomplete, and it runs. */
static int
hear(const struct trial_child *c, int fd, char *words, size_t room)
{
        uint64_t begun = clock_boot_ms(), end = begun + c->deadline_ms, now = begun;
        char rest[256] = "";
        bool is_shown = false;
        size_t used = 0;
        ssize_t got = -1;

        while (got != 0 && stopped_by == 0 && now < end) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                bool fits = used + 1 < room;
                int ready = clock_poll(&p, 1, now + LOOK_MS < end ? now + LOOK_MS : end);

                got = ready <= 0 ? -1
                                 : read(fd, fits ? words + used : rest,
                                        fits ? room - 1 - used : sizeof rest);
                if (got > 0 && fits)
                        used += (size_t)got;
                show(c, begun, &is_shown);
                now = clock_boot_ms();
        }
        words[used] = '\0';
        if (is_shown)
                (void)fprintf(stderr, "\r%70s\r", "");
        return got == 0 ? 0 : -1;
}

int
trial_child_run(const struct trial_child *c, char *said, size_t room)
{
        scoped_fd int in = -1;
        int ends[2], status = 0, heard;
        pid_t pid;

        said[0] = '\0';
        if (pipe2(ends, O_CLOEXEC) < 0)
                return NOT_STARTED;
        in = ends[0];
        (void)fflush(NULL);
        pid = fork();
        if (pid == 0)
                become(c, ends[1]);
        (void)close(ends[1]);
        if (pid < 0)
                return NOT_STARTED;
        heard = hear(c, in, said, room);
        if (heard < 0) {
                (void)kill(-pid, SIGKILL);
                (void)kill(pid, SIGKILL);
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                continue;
        if (heard < 0)
                return stopped_by != 0 ? TRIAL_CHILD_STOPPED : TRIAL_CHILD_LATE;
        return WIFEXITED(status) ? WEXITSTATUS(status) : NOT_STARTED;
}
