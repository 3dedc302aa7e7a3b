/*
 * prepare/policy_digest.h - the version of the rules for commands that apply to a sandbox.
 */
#ifndef CARREL_PREPARE_POLICY_DIGEST_H
#define CARREL_PREPARE_POLICY_DIGEST_H

#include "base/error.h"
#include "policy/host_rules.h"
#include "spec/spec.h"

/*
 * The SHA-256, in hex, of the canonical form (RFC 8785) of {"host":...,"manifest":...,
 * "redact_off":[...]}: the rules of the host file and of the manifest, and the names of the groups
 * of rules that remove nothing from audit logs (text/redact_group.def). What has none is left out.
 * Without any `ret` becomes "". Errors: those of jcs_write().
 */
int prepare_policy_digest(const struct spec *spec, const struct host_rules *rules, char ret[65],
                          struct error *e);

#endif
