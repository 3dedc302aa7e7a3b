/*
 * prepare/time_allowed.c - chooses how long one command may run.
 *
 * Room: prepare (joining). Touches: nothing.
 */
#include "prepare/time_allowed.h"

#include <inttypes.h>

static int
refuse(uint64_t asked_ms, const struct time_limit *bound, struct error *e)
{
        char asked[TIME_LIMIT_TEXT], most[TIME_LIMIT_TEXT];

        (void)time_limit_text(asked_ms, asked);
        (void)time_limit_text(bound->ms, most);
        if (bound->by == TIME_LIMIT_HOST) {
                (void)fail_at(e, ERROR_POLICY_DENIED, "timeout_ms", "limits_max",
                              "a time limit of %s is above the %s that this host permits "
                              "(limits_max.timeout_ms: %" PRIu64 ")",
                              asked, most, bound->ms);
                error_hint(e,
                           "Ask for %s or less, or have the operator raise limits_max.timeout_ms "
                           "in the host file.",
                           most);
        } else {
                (void)fail_at(e, ERROR_POLICY_DENIED, "timeout_ms", "limits.timeout_ms",
                              "a time limit of %s is above the %s that SANDBOX.md permits "
                              "(limits.timeout_ms: %" PRIu64 ")",
                              asked, most, bound->ms);
                error_hint(e, "Ask for %s or less, or raise limits.timeout_ms in SANDBOX.md.",
                           most);
        }
        return -1;
}

int
time_allowed_choose(const struct spec_limits *limits, uint64_t asked_ms, uint64_t otherwise_ms,
                    struct time_limit *ret, struct error *e)
{
        struct time_limit bound = { limits->timeout_max_ms, TIME_LIMIT_HOST };

        if (limits->is_timeout_given && limits->timeout_ms <= bound.ms)
                bound = (struct time_limit){ limits->timeout_ms, TIME_LIMIT_MANIFEST };
        if (asked_ms != SPEC_UNSET && bound.ms != SPEC_UNSET && asked_ms > bound.ms)
                return refuse(asked_ms, &bound, e);
        if (asked_ms != SPEC_UNSET)
                *ret = (struct time_limit){ asked_ms, TIME_LIMIT_CALL };
        else if (limits->is_timeout_given || bound.ms < otherwise_ms)
                *ret = bound;
        else
                *ret = (struct time_limit){ otherwise_ms, TIME_LIMIT_DEFAULT };
        if (ret->ms == SPEC_UNSET)
                ret->by = TIME_LIMIT_NONE;
        return 0;
}
