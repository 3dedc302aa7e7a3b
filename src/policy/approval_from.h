/*
 * policy/approval_from.h - what a required approval (policy/requirement.h) makes wait, and who may
 * give it.
 */
#ifndef CARREL_POLICY_APPROVAL_FROM_H
#define CARREL_POLICY_APPROVAL_FROM_H

#include "policy/host_rules.h"
#include "spec/spec.h"

/*
 * Does it apply to this operation (spec/approve.h) of the sandbox? A command is sandbox:execute,
 * and sandbox:network-egress too if the sandbox has destinations.
 */
bool approval_from_applies(const struct spec *spec, const struct spec_approval_from *r,
                           const char *operation);

/*
 * Does the operation wait for a person: is it in one of the lists, or does a requirement apply?
 * `operation`: as spec_approve_operation() returns it.
 */
bool approval_from_waits(const struct spec *spec, const struct host_rules *rules,
                         const char *operation);

/*
 * Is the user or token with this owner name ("uid:1000", "ann") the party? A party is "*", an owner
 * name, "operator://uid-1000" for uid:1000, "user://ann" for ann, or `principal`: the name that the
 * host file gives to the user with owner name `own`.
 */
bool approval_from_names(const char *party, const char *owner, const char *principal,
                         const char *own);

#endif
