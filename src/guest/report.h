/*
 * guest/report.h - what a child of pid 1 that executes nothing tells it, over one pipe that all of them share.
 *
 * A reaper (guest/reaper.h) tells how its command began and ended; a function (guest/files.h) tells that it begins, or why not. The
 * pipe is out of the payload's reach: who holds it is not dumpable. One write is one report, because it is shorter than PIPE_BUF.
 */
#ifndef CARREL_GUEST_REPORT_H
#define CARREL_GUEST_REPORT_H

#include <sys/resource.h>
#include <sys/types.h>

#include "wire/message.h"

struct report {
        uint16_t kind;                 /* WIRE_EXEC_STARTED, WIRE_EXEC_FAILED, WIRE_EXEC_ENDED */
        uint16_t pad;
        int32_t pid;                   /* STARTED: of the command */
        struct wire_exec_failed failed;
        struct wire_exec_ended ended;
        uint32_t exec;
};

/* How a child ended, from what wait4(2) says of it. */
struct wire_exec_ended report_ended(uint32_t exec, int status, const struct rusage *usage);

/* Writes one whole; -1 when pid 1 does not listen any more, and then everything ends anyway. */
int report_write(int pipe, const struct report *r);

#endif
