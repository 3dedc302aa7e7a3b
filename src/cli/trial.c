/*
 * cli/trial.c - starts and ends a whole sandbox, to see whether this machine can.
 *
 * Room: cli (joining). Touches: processes, fd; what `carrel run` touches.
 * Theory: mechanisms that work one by one may still fail in a plan (a mount beneath /usr once did).
 * So `carrel doctor` takes the same path as `carrel run`, in a child. Nothing is written on the
 * host: the manifest is in memory and mounts nothing.
 */
#include "cli/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scoped.h"
#include "cli/commands.h"
#include "clock/clock.h"

enum { DEADLINE_MS = 10000, WORDS_ROOM = 1024, NOT_FOUND = 127 };

static const struct host_try row = {
        "whole_sandbox",
        "every step of a run, one after the other",
        NULL,
        "see the step that fails with: carrel plan --steps; then report it with the output of "
        "carrel doctor --json",
        true,
};

static _Noreturn void
become_run(int file, int out)
{
        char path[32];
        char words[][12] = { "run", "-f", "-w", "/", "--", "true" };
        char *argv[] = { words[0], words[1], path, words[2], words[3], words[4], words[5], NULL };
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void)setpgid(0, 0);
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(out, 2) < 0)
                _exit(NOT_FOUND + 1);
        _exit(command_run.run(sizeof argv / sizeof *argv - 1, argv));
}

/* Reads its standard error until it ends. False: it did not end in time. */
static bool
hear(int fd, char *words, size_t room)
{
        uint64_t end = clock_boot_ms() + DEADLINE_MS;
        size_t used = 0;
        char rest[256] = "";

        for (;;) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                bool fits = used + 1 < room;
                int ready = clock_poll(&p, 1, end);
                ssize_t got;

                if (ready == 0 || (ready < 0 && errno != EINTR))
                        return false;
                got = ready < 0 ? -1
                                : read(fd, fits ? words + used : rest,
                                       fits ? room - 1 - used : sizeof rest);
                if (got == 0)
                        break;
                if (got > 0 && fits)
                        used += (size_t)got;
        }
        words[used] = '\0';
        return true;
}

/* "carrel: error: making the sandbox, step 11, bind /usr: ..." and, in the next line, its code. */
static void
tell(struct host_report *report, char *words)
{
        static const char prefix[] = "carrel: error: ";
        char *sentence = strstr(words, prefix);
        bool is_of_host = strstr(words, "\n    sandbox_backend_failed") ||
                          strstr(words, "\n    capability_unavailable");

        sentence = sentence ? sentence + sizeof prefix - 1 : words;
        sentence[strcspn(sentence, "\n")] = '\0';
        host_report_add(report, &row, PROVIDER_NEED_TIER,
                        is_of_host || sentence[0] == '\0' ? ATTEMPT_FAILS : ATTEMPT_IDLE,
                        sentence[0] ? sentence : "it ended without a word");
}

void
trial_run(struct host_report *report)
{
        char words[WORDS_ROOM] = "";
        scoped_fd int file = memfd_create("carrel-doctor", MFD_CLOEXEC);
        scoped_fd int in = -1;
        bool is_heard;
        int ends[2], status = 0;
        pid_t pid;

        if (!report->has_tier) {
                host_report_add(report, &row, PROVIDER_NEED_TIER, ATTEMPT_IDLE,
                                "not tried: it needs what is missing above");
                return;
        }
        if (file < 0 ||
            dprintf(file, "---\nschema: sandbox/v1\nprovider: %s\nconfig: {}\n---\n",
                    report->provider->id) < 0 ||
            pipe2(ends, O_CLOEXEC) < 0) {
                host_report_add(report, &row, PROVIDER_NEED_TIER, ATTEMPT_FAILS,
                                "no memory or no pipe for the attempt");
                return;
        }
        in = ends[0];
        (void)fflush(NULL);
        pid = fork();
        if (pid == 0)
                become_run(file, ends[1]);
        (void)close(ends[1]);
        is_heard = pid > 0 && hear(in, words, sizeof words);
        if (pid > 0 && !is_heard)
                (void)kill(-pid, SIGKILL);
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (!is_heard)
                host_report_add(report, &row, PROVIDER_NEED_TIER, ATTEMPT_FAILS,
                                "no answer before the deadline");
        else if (WIFEXITED(status) &&
                 (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == NOT_FOUND))
                host_report_add(report, &row, PROVIDER_NEED_TIER, ATTEMPT_WORKS,
                                "made, with a command in it, and ended");
        else
                tell(report, words);
}
