/*
 * maker/usage.h - measures what the processes of a box have used, from outside, just before they
 * are killed.
 */
#ifndef CARREL_MAKER_USAGE_H
#define CARREL_MAKER_USAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct usage {
        uint64_t cpu_ns, peak_bytes; /* total of all processes; peak of the largest one */
};

enum { USAGE_PROCESSES_MAX = 512 };

/*
 * Lists the live processes below `pid`, parents first, and returns their number; 0 if /proc cannot
 * be read. Children that a thread other than the first one started are missed.
 */
size_t usage_processes(pid_t pid, pid_t list[USAGE_PROCESSES_MAX]);

/*
 * Adds up the live processes below `pid` and the children they have waited for. It does not stop
 * them, so a process that starts meanwhile is missed. A value is zero if /proc cannot be read.
 */
void usage_look(pid_t pid, struct usage *ret);

#endif
