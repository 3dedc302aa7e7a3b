/*
 * host/facts.h - a quick look at this machine, for the planner.
 */
#ifndef CARREL_HOST_FACTS_H
#define CARREL_HOST_FACTS_H

#include "base/error.h"
#include "plan/host_facts.h"

/*
 * Reads facts and changes nothing: a few dozen microseconds, no process created, no file written. A
 * fact that cannot be read counts as absent, so facts err towards refusing. Fails only with
 * ERROR_CAPABILITY_UNAVAILABLE, if even uname and sysinfo fail. The caller owns `ret`; its strings
 * are static or inside it.
 */
int host_facts_read(struct host_facts *ret, struct error *e);

#endif
