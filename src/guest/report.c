/*
 * guest/report.c - reports to pid 1 from its children that execute no program.
 *
 * Room: guest (program). Touches: fd.
 */
#include "guest/report.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t
microseconds(struct timeval time)
{
        return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

struct wire_exec_ended
report_ended(uint32_t exec, int status, const struct rusage *usage)
{
        struct wire_exec_ended ended = { .exec = exec,
                                         .code = CLD_EXITED,
                                         .status = WEXITSTATUS(status) };

        if (WIFSIGNALED(status)) {
                ended.code = WCOREDUMP(status) ? CLD_DUMPED : CLD_KILLED;
                ended.status = WTERMSIG(status);
        }
        ended.user_us = microseconds(usage->ru_utime);
        ended.system_us = microseconds(usage->ru_stime);
        ended.max_rss_kb = (uint64_t)usage->ru_maxrss;
        return ended;
}

int
report_write(int pipe, const struct report *r)
{
        ssize_t len;

        do
                len = write(pipe, r, sizeof *r);
        while (len < 0 && errno == EINTR);
        return len == (ssize_t)sizeof *r ? 0 : -1;
}
