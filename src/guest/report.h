/*
 * guest/report.h - reports to pid 1 from its children that execute no program, over one shared
 * pipe.
 *
 * A reaper (guest/reaper.h) reports how its command began and ended. A function (guest/files.h)
 * reports that it begins, or why it does not. The payload cannot reach the pipe, because each
 * holder is not dumpable. One write is one report, because a report is shorter than PIPE_BUF.
 */
#ifndef CARREL_GUEST_REPORT_H
#define CARREL_GUEST_REPORT_H

#include <sys/resource.h>
#include <sys/types.h>

#include "wire/message.h"

struct report {
        uint16_t kind; /* WIRE_EXEC_STARTED, WIRE_EXEC_FAILED, WIRE_EXEC_ENDED */
        uint16_t pad;
        int32_t pid; /* STARTED: pid of the command */
        struct wire_exec_failed failed;
        struct wire_exec_ended ended;
        uint32_t exec;
};

/* How a child ended, from the result of wait4(2). */
struct wire_exec_ended report_ended(uint32_t exec, int status, const struct rusage *usage);

/* Writes one report. -1: pid 1 has closed the pipe, and everything ends anyway. */
int report_write(int pipe, const struct report *r);

#endif
