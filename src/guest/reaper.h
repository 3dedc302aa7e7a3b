/*
 * guest/reaper.h - a process of its own above one command, so that its tree stays a tree where no control group holds it.
 *
 * A reaper is the child subreaper of its command: whatever the command starts, however it forks and whichever session it enters, has the
 * reaper among its ancestors. It starts the command, reaps, tells pid 1 how the command began and ended, and ends when
 * nothing is left below it. It kills nobody: pid 1 does (guest/tree.h), because a payload can stop or kill a reaper.
 */
#ifndef CARREL_GUEST_REAPER_H
#define CARREL_GUEST_REAPER_H

#include "guest/command.h"

/* Starts one; what becomes of the command comes over `report` (guest/report.h). Its pid, or -errno. */
pid_t reaper_start(const struct command *c, int report);

#endif
