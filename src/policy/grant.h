/*
 * policy/grant.h - AIP-38: is this principal granted this action?
 *
 * Policies compose: grants are united, a deny among the defaults wins, and all requirements must
 * hold: an `approval-from` (policy/requirement.h) holds here, and the operation then waits for that
 * party. A policy without `default` denies. An unknown condition, requirement, limit, scope or
 * member of a grant counts as unsatisfied, and a warning reports it. Source: AIP-38 rules 1 to 5;
 * cases A36-145 to 153.
 */
#ifndef CARREL_POLICY_GRANT_H
#define CARREL_POLICY_GRANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/findings.h"
#include "text/tree.h"

#define GRANT_USAGE_UNKNOWN UINT64_MAX
/* of tool_calls and egress_bytes: the caller counts each call or byte itself (policy/rate.h) */
#define GRANT_USAGE_EACH (UINT64_MAX - 1)

struct grant_usage {           /* usage so far; an unknown value makes a limit on it unsatisfied */
        uint64_t sandboxes;    /* of this principal, living now */
        uint64_t tool_calls;   /* within the period the policy names */
        uint64_t egress_bytes; /* today */
};

struct grant_request {
        const char *principal;
        const char *action; /* "sandbox:execute" */
        int64_t now_s;      /* seconds since 1970, UTC */
        struct grant_usage usage;
};

struct grant_decision { /* the decision record of AIP-38 */
        bool is_allowed;
        const char *reason; /* matched-grant, default-allow, no-grant, condition-failed,
                               requirement-failed, limit-exceeded, explicit-revoke, ttl-expired */
        const char *principal, *action;
        const char *grant_id; /* the grant's own id, else its place ("0/grants/1"); NULL if none
                                 decided */
        size_t policy_count;
        int64_t evaluated_at_s;
};

/* One policy body and its path, for warnings. */
struct grant_policy {
        const struct node *body;
        const char *path;
};

/*
 * Decides. Without any policy it denies: the caller knows whether the host has a fallback. Warnings
 * (policy_condition_unsatisfied, policy_default_allow) go to `findings` once for each place. Texts
 * in the decision live in `arena` or in the trees.
 */
struct grant_decision grant_decide(struct arena *arena, const struct grant_policy *policies,
                                   size_t count, const struct grant_request *request,
                                   struct findings *findings);

/* Does "sandbox:*" or "sandbox:execute" cover the action? Only a final "*" is a wildcard, after ":"
 * or alone. */
bool grant_action_covers(const char *pattern, const char *action);

/* Converts an RFC 3339 date and time to seconds since 1970; drops fractions. Returns 0 or -1. */
int grant_time_read(const char *text, int64_t *ret_s);

#endif
