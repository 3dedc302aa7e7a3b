/*
 * plan/refuse.h - what is never planned: a box that would be weaker than it says, or that could not work.
 */
#ifndef CARREL_PLAN_REFUSE_H
#define CARREL_PLAN_REFUSE_H

#include "base/error.h"
#include "plan/host_facts.h"
#include "plan/request.h"
#include "spec/spec.h"

/*
 * 0, or the first reason not to: ERROR_EGRESS_UNENFORCEABLE for a list of destinations that no wall holds a box to: "no_wall"
 * on a host without one, "too_many_ports" and "dns_port" at the place of an entry,
 * ERROR_CAPABILITY_UNAVAILABLE "user_namespaces", "seccomp", "mount_api" or "landlock" for a host without it, ERROR_MOUNT_INVALID
 * "reserved" for a mount over what a box is made of.
 */
int plan_refuse(const struct spec *spec, const struct host_facts *facts, const struct plan_request *request, struct error *e);

#endif
