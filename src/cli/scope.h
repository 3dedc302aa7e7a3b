/*
 * cli/scope.h - a control group of one's own, asked of systemd, where an ordinary user has none that may limit.
 */
#ifndef CARREL_CLI_SCOPE_H
#define CARREL_CLI_SCOPE_H

#include "cli/prepare.h"

/*
 * Where limits are asked for that need a group, this host has v2 groups, none is ours, and the user's systemd answers: executes
 * this program again in a transient scope with delegation, with the same arguments, and does not return. Otherwise returns,
 * and the planner's warnings stand. Never tried twice (CARREL_IN_SCOPE). Source: systemd.resource-control(5), Delegate=.
 */
void scope_enter(const struct run_way *w, int argc, char **argv);

/* The same for `carrel serve`, whose sandboxes are not known yet: wherever it would help. */
void scope_enter_for_daemon(int argc, char **argv);

#endif
