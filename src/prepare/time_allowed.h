/*
 * prepare/time_allowed.h - chooses how long one command may run, from the written limits, the
 * call's limit and the front's default.
 *
 * A written limit always applies: limits.timeout_ms of the manifest, limits_max.timeout_ms of the
 * host file. A call may ask for less; a call that asks for more is refused. Without a written limit
 * the call's own limit applies, else the front's default.
 */
#ifndef CARREL_PREPARE_TIME_ALLOWED_H
#define CARREL_PREPARE_TIME_ALLOWED_H

#include <stdint.h>

#include "base/error.h"
#include "outcome/time_limit.h"
#include "spec/spec.h"

/*
 * The default of `carrel run` without a terminal. Other fronts have no default: a person at a
 * terminal, or the caller of a living sandbox, stops the command.
 */
enum { TIME_ALLOWED_RUN_MS = 600000 };

/*
 * `asked_ms`: the call's limit, SPEC_UNSET if it has none; `otherwise_ms`: the front's default, or
 * SPEC_UNSET. ERROR_POLICY_DENIED: the call asks for more than a written limit; the message has
 * both numbers, and the hint says where to raise the limit.
 */
int time_allowed_choose(const struct spec_limits *limits, uint64_t asked_ms, uint64_t otherwise_ms,
                        struct time_limit *ret, struct error *e);

#endif
