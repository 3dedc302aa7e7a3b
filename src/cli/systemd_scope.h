/*
 * cli/systemd_scope.h - gets a control group from systemd for an ordinary user who has none that
 * can set limits.
 */
#ifndef CARREL_CLI_SYSTEMD_SCOPE_H
#define CARREL_CLI_SYSTEMD_SCOPE_H

#include "cli/prepare.h"

/*
 * If limits need a group, the host has v2 groups, none belongs to this user, and the user's systemd
 * answers: executes this program again with the same arguments in a transient scope with
 * delegation, and does not return. Otherwise returns, and the planner's warnings apply. Never tried
 * twice (CARREL_IN_SCOPE). Source: systemd.resource-control(5), Delegate=.
 */
void systemd_scope_enter(const struct run_way *w, int argc, char **argv);

/* The same for `carrel serve`, whose sandboxes are not known yet: done whenever it would help. */
void systemd_scope_enter_for_daemon(int argc, char **argv);

#endif
