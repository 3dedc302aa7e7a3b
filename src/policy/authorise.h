/*
 * policy/authorise.h - judges a checked spec against what the host permits.
 *
 * Order of the checks: is the provider known and trusted; can it close the network; which limits
 * can it not enforce (a warning each); are the destinations, secrets, passed names, mounts and
 * tools permitted; does policy grant the actions. All errors are collected; the first is the
 * verdict. Source: AIP-36 "Security considerations", conformance rules 2 to 4 and 6; cases with
 * stage authorise.
 */
#ifndef CARREL_POLICY_AUTHORISE_H
#define CARREL_POLICY_AUTHORISE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/findings.h"
#include "policy/host_rules.h"
#include "spec/spec.h"

/*
 * Judges `spec`. `now_s` is seconds since 1970, for grants with a lifetime. On success ret_spec is
 * a copy with the effective modes of mounts, and without a pause that the provider cannot do.
 * Errors: every authorise-stage code of AIP-36, ERROR_MOUNT_DENIED, ERROR_NO_MEMORY.
 */
int authorise(struct arena *arena, const struct spec *spec, const struct host_rules *rules,
              int64_t now_s, const struct spec **ret_spec, struct findings *findings,
              struct error *e);

/*
 * Is the name on the deny list of env.passthrough: named like a credential, or read by a loader or
 * interpreter?
 */
bool authorise_name_is_denied(const char *name);

#endif
