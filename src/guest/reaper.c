/*
 * guest/reaper.c - a process above one command that keeps its process tree together.
 *
 * Room: guest (program). Touches: processes, fd.
 *
 *     pid 1 --- reaper --- command --- ...
 *                  \------ processes that lost their parent
 *
 * Theory: it is a fork of pid 1 that executes no program. So it is not dumpable, like pid 1, and
 * costs a few pages.
 */
#include "guest/reaper.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/report.h"

/* Ends when no child is left; afterwards no process can join the tree. */
static _Noreturn void
reap_all(pid_t command, uint32_t exec, int pipe)
{
        struct rusage usage;
        int status;

        for (;;) {
                pid_t pid = wait4(-1, &status, 0, &usage);
                struct report r = { .kind = WIRE_EXEC_ENDED, .exec = exec };

                if (pid < 0 && errno != EINTR)
                        _exit(0);
                if (pid <= 0 || pid != command)
                        continue;
                r.ended = report_ended(exec, status, &usage);
                command = 0; /* its pid may be reused from now on */
                if (report_write(pipe, &r) < 0)
                        _exit(1);
        }
}

static _Noreturn void
serve(const struct command *c, int report)
{
        struct report r = { .kind = WIRE_EXEC_STARTED, .exec = c->head.exec };
        enum wire_exec_stage stage = WIRE_STAGE_SPAWN;
        sigset_t all;
        pid_t pid;

        (void)sigfillset(&all);
        /* a payload uses `kill -TERM -1` to clean up; that is not meant for reapers */
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
        if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
                pid = -errno;
        else
                pid = command_start(c, &stage);
        r.pid = pid;
        if (pid < 0) {
                r.kind = WIRE_EXEC_FAILED;
                r.failed = (struct wire_exec_failed){ c->head.exec, -pid, stage };
        }
        if (dup2(report, COMMAND_KEPT) < 0)
                _exit(1);
        /* otherwise the command's pipes and terminal would never close */
        command_close_from(COMMAND_KEPT + 1);
        if (report_write(COMMAND_KEPT, &r) < 0)
                _exit(1);
        reap_all(pid > 0 ? pid : 0, c->head.exec, COMMAND_KEPT);
}

pid_t
reaper_start(const struct command *c, int report)
{
        pid_t pid = fork();

        if (pid == 0)
                serve(c, report);
        return pid < 0 ? -errno : pid;
}
