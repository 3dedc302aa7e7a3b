/*
 * sandbox/time_allowed.h - how long one command may run: what was written, what the call asks, what the front has as a default.
 *
 * A limit that somebody wrote holds: limits.timeout_ms of the manifest, limits_max.timeout_ms of the host file. A call may ask for less; a call
 * that asks for more is refused. Where nobody wrote one, the call's own limit counts, else the front's default.
 */
#ifndef CARREL_SANDBOX_TIME_ALLOWED_H
#define CARREL_SANDBOX_TIME_ALLOWED_H

#include <stdint.h>

#include "base/error.h"
#include "event/time_limit.h"
#include "spec/spec.h"

/* The default of `carrel run` without a terminal. Nothing else has one: a person at a terminal, or a living sandbox's caller, ends what they began. */
enum { TIME_ALLOWED_RUN_MS = 600000 };

/*
 * `asked_ms`: of the call, SPEC_UNSET where it asks for nothing; `otherwise_ms`: the front's default, or SPEC_UNSET. ERROR_POLICY_DENIED: the call
 * asks for more than somebody wrote; the message has both numbers, and the hint says where to raise the limit.
 */
int time_allowed_choose(const struct spec_limits *limits, uint64_t asked_ms, uint64_t otherwise_ms, struct time_limit *ret, struct error *e);

#endif
