/*
 * policy/choose.h - which provider runs a manifest that says `provider: auto`.
 */
#ifndef CARREL_POLICY_CHOOSE_H
#define CARREL_POLICY_CHOOSE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/findings.h"
#include "policy/host_rules.h"
#include "spec/spec.h"

/*
 * If *spec says `auto`: gives a copy that names the first provider, by the cost of its row
 * (spec/provider.h), which the host file has, this machine can run, reaches the least tier and has
 * every setting of the manifest; `choice` says why. Other specs stay as they are. What a provider
 * cannot do beside that is refused or warned of as if it were named. In `arena`. Errors:
 * ERROR_CAPABILITY_UNAVAILABLE, reason "no_kind", with each provider and why not (also added to
 * `findings`); ERROR_NO_MEMORY.
 */
int choose_provider(struct arena *arena, const struct host_rules *rules, const struct spec **spec,
                    struct findings *findings, struct error *e);

#endif
