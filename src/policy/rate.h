/*
 * policy/rate.h - limits of AIP-38 policies: on the rate of calls, and on the bytes of a day.
 *
 *     limits: [{kind: rate-tool-calls, max: 60, per: minute}]    # second, minute, hour, day
 *     limits: [{kind: max-egress-bytes-per-day, max: 1000000}]
 *
 * The number is `value` (also max, limit, count). `scope` may be `user`, which is the owner, and
 * `applies_to` may name the action that the kind limits. A limit with any other member or value is
 * not understood, and never holds. Source: the draft of AIP-38's schema.
 */
#ifndef CARREL_POLICY_RATE_H
#define CARREL_POLICY_RATE_H

#include "spec/spec.h"
#include "text/tree.h"

#define RATE_KIND "rate-tool-calls"
#define RATE_DAY_BYTES_KIND "max-egress-bytes-per-day"

/* The number that a limit of any kind has, as a node; NULL: it has none, or several. */
const struct node *rate_limit_value(const struct node *limit);

/* Has a limit without a period no members but its kind, its number and what only describes it? */
bool rate_limit_is_plain(const struct node *limit);

/* 0, or -1: it is not understood. */
int rate_read(const struct node *limit, struct spec_rate *ret);
int rate_day_bytes_read(const struct node *limit, uint64_t *ret_max);

/*
 * Adds the rates of a policy body to `items`, which has room for SPEC_RATES_MAX, and counts them.
 * -1: more. What is not understood is left out: grant_decide() refuses it.
 */
int rate_collect(const struct node *body, struct spec_rate *items, size_t *count);

/* Lowers `*max` to the least limit of a policy body on the bytes of a day. */
void rate_day_bytes_collect(const struct node *body, uint64_t *max);

#endif
