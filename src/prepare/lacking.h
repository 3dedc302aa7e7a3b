/*
 * prepare/lacking.h - what this machine lacks for each provider of the rules.
 */
#ifndef CARREL_PREPARE_LACKING_H
#define CARREL_PREPARE_LACKING_H

#include "plan/host_facts.h"
#include "policy/host_rules.h"

/* Sets `lacks` of each provider whose engine needs more than namespaces (policy/host_provider.h).
 */
void lacking_note(const struct host_facts *facts, struct host_rules *rules);

#endif
