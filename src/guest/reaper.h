/*
 * guest/reaper.h - a process above each command that keeps its process tree together, used without
 * control groups.
 *
 * A reaper is the child subreaper of its command. So every descendant has the reaper as an
 * ancestor, however it forks and whatever session it joins. The reaper starts the command, reaps,
 * and reports its begin and end to pid 1. It ends when no process is left below it. It kills no
 * process: pid 1 does (guest/tree.h), because a payload can stop or kill a reaper.
 */
#ifndef CARREL_GUEST_REAPER_H
#define CARREL_GUEST_REAPER_H

#include "guest/command.h"

/*
 * Starts a reaper; it reports about the command over `report` (guest/report.h). Returns its pid, or
 * -errno.
 */
pid_t reaper_start(const struct command *c, int report);

#endif
