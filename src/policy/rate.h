/*
 * policy/rate.h - limits of AIP-38 policies on the rate of calls.
 *
 *     limits: [{kind: rate-tool-calls, max: 60, per: minute}]    # second, minute, hour, day
 *
 * AIP-38 names the kind and the periods, and not the members: `max` (also value, limit, count) and
 * `per` are used. A limit with any other member is not understood, and never holds.
 */
#ifndef CARREL_POLICY_RATE_H
#define CARREL_POLICY_RATE_H

#include "spec/spec.h"
#include "text/tree.h"

#define RATE_KIND "rate-tool-calls"

/* The number that a limit of any kind has, as a node; NULL: it has none, or several. */
const struct node *rate_limit_value(const struct node *limit);

/* 0, or -1: it is not understood. */
int rate_read(const struct node *limit, struct spec_rate *ret);

/*
 * Adds the rates of a policy body to `items`, which has room for SPEC_RATES_MAX, and counts them.
 * -1: more. What is not understood is left out: grant_decide() refuses it.
 */
int rate_collect(const struct node *body, struct spec_rate *items, size_t *count);

#endif
