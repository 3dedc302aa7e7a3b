/*
 * plan/refuse.h - refuses a box that would be weaker than its spec says, or that could not work.
 */
#ifndef CARREL_PLAN_REFUSE_H
#define CARREL_PLAN_REFUSE_H

#include "base/error.h"
#include "plan/host_facts.h"
#include "plan/request.h"
#include "spec/spec.h"

/*
 * Returns 0, or -1 with the first reason to refuse. ERROR_EGRESS_UNENFORCEABLE if no wall can
 * enforce the list of destinations: "no_wall" if the host has no wall, "too_many_ports" and
 * "dns_port" at the place of an entry. ERROR_CAPABILITY_UNAVAILABLE "user_namespaces", "seccomp",
 * "mount_api" or "landlock" if the host lacks it. ERROR_MOUNT_INVALID "reserved" for a mount over a
 * path that the box itself needs.
 */
int plan_refuse(const struct spec *spec, const struct host_facts *facts,
                const struct plan_request *request, struct error *e);

/* The part about ports: "too_many_ports". */
int plan_refuse_ports(const struct spec *spec, struct error *e);

#endif
