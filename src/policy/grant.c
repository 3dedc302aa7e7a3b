/*
 * policy/grant.c - AIP-38: is this principal granted this action?
 *
 * Room: policy (deciding, pure). Touches: mem.
 * Knows policy bodies as trees, and the time it receives. Knows nothing of sandboxes or manifests.
 * Theory: every grant that names the principal and the action is a candidate. A candidate is
 * rejected if it is revoked, expired, conditional or not understood. One remaining grant is enough,
 * unless a requirement or limit of any policy fails. G1: anything that is not understood never
 * helps to allow.
 */
#include "policy/grant.h"

#include <string.h>

#include "policy/rate.h"
#include "policy/requirement.h"

enum { GRANTS_MAX = 4096 };

struct judging {
        struct arena *arena;
        const struct grant_request *request;
        struct findings *findings;
        struct grant_decision decision;
};

static const char *const grant_members[] = {
        "id",         "principal",  "actions", "conditions", "ttl_seconds",
        "granted_at", "granted_by", "revoked", "metadata",   "description",
};

/* -- time -------------------------------------------------------------------------------------- */

static int
digits(const char **at, size_t count, int64_t *ret)
{
        int64_t value = 0;

        for (size_t i = 0; i < count; i++) {
                char c = (*at)[i];

                if (c < '0' || c > '9')
                        return -1;
                value = value * 10 + (c - '0');
        }
        *at += count;
        *ret = value;
        return 0;
}

static int
literal(const char **at, const char *set)
{
        if (**at == '\0' || !strchr(set, **at))
                return -1;
        (*at)++;
        return 0;
}

static int
clock_zone(const char *at, int64_t *ret_offset_s)
{
        int64_t hours, minutes, sign = *at == '-' ? -1 : 1;

        *ret_offset_s = 0;
        if ((*at == 'Z' || *at == 'z') && at[1] == '\0')
                return 0;
        if (literal(&at, "+-") < 0 || digits(&at, 2, &hours) < 0 || literal(&at, ":") < 0 ||
            digits(&at, 2, &minutes) < 0)
                return -1;
        if (hours > 23 || minutes > 59 || *at != '\0')
                return -1;
        *ret_offset_s = sign * (hours * 3600 + minutes * 60);
        return 0;
}

/* Days since 1970-01-01 in the Gregorian calendar: years begin in March, so that the leap day comes
 * last. */
static int64_t
days_since_epoch(int64_t year, int64_t month, int64_t day)
{
        int64_t y = month <= 2 ? year - 1 : year;
        int64_t shifted = (month + 9) % 12;

        return y * 365 + y / 4 - y / 100 + y / 400 + (shifted * 153 + 2) / 5 + day - 1 - 719468;
}

static bool
date_is_real(int64_t year, int64_t month, int64_t day)
{
        static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
        bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

        if (month < 1 || month > 12 || day < 1)
                return false;
        return day <= lengths[month - 1] + (month == 2 && is_leap ? 1 : 0);
}

int
grant_time_read(const char *text, int64_t *ret_s)
{
        int64_t year, month, day, hour, minute, second, offset_s;
        const char *at = text;

        if (digits(&at, 4, &year) < 0 || literal(&at, "-") < 0 || digits(&at, 2, &month) < 0 ||
            literal(&at, "-") < 0 || digits(&at, 2, &day) < 0 || literal(&at, "Tt ") < 0 ||
            digits(&at, 2, &hour) < 0 || literal(&at, ":") < 0 || digits(&at, 2, &minute) < 0 ||
            literal(&at, ":") < 0 || digits(&at, 2, &second) < 0)
                return -1;
        if (*at == '.') {
                size_t len = strspn(at + 1, "0123456789");

                if (len == 0)
                        return -1;
                at += 1 + len;
        }
        if (clock_zone(at, &offset_s) < 0 || !date_is_real(year, month, day) || hour > 23 ||
            minute > 59 || second > 60)
                return -1;
        *ret_s = days_since_epoch(year, month, day) * 86400 + hour * 3600 + minute * 60 + second -
                 offset_s;
        return 0;
}

/* -- words ------------------------------------------------------------------------------------- */

bool
grant_action_covers(const char *pattern, const char *action)
{
        size_t len = strlen(pattern);

        if (strcmp(pattern, "*") == 0)
                return true;
        if (len >= 2 && pattern[len - 1] == '*' && pattern[len - 2] == ':')
                return strncmp(pattern, action, len - 1) == 0 && action[len - 1] != '\0';
        return strcmp(pattern, action) == 0;
}

static void
warn_once(struct judging *j, const char *name, const char *path, const struct node *at,
          const char *message)
{
        for (const struct warning *w = j->findings->warnings; w; w = w->next)
                if (strcmp(w->name, name) == 0 && strcmp(w->path, path) == 0)
                        return;
        findings_warn(j->findings, name, path, at ? at->line : 0, at ? at->column : 0, "%s",
                      message);
}

static void
unsatisfied(struct judging *j, const char *path, const struct node *at, const char *what)
{
        const char *message =
                arena_format(j->arena, "%s is not understood here and counts as unsatisfied", what);

        warn_once(j, "policy_condition_unsatisfied", path, at, message ? message : what);
}

/* -- one grant --------------------------------------------------------------------------------- */

static bool
principal_matches(const struct node *n, const char *principal)
{
        if (!n)
                return false;
        if (n->kind == NODE_STRING)
                return strcmp(n->text, "*") == 0 || strcmp(n->text, principal) == 0;
        if (n->kind != NODE_LIST)
                return false;
        node_each(item, n) if (item->kind == NODE_STRING &&
                               principal_matches(item, principal)) return true;
        return false;
}

/* The entry of `actions` that covers the action, or NULL. An entry is a map with `action`, or the
 * bare word. */
static const struct node *
action_entry(const struct node *actions, const char *action)
{
        if (!actions || actions->kind != NODE_LIST)
                return NULL;
        node_each(item, actions)
        {
                const struct node *word = item->kind == NODE_MAP ? node_find(item, "action") : item;

                if (word && word->kind == NODE_STRING && grant_action_covers(word->text, action))
                        return item;
        }
        return NULL;
}

static bool
scope_is_open(const struct node *entry)
{
        const struct node *scope = node_find(entry, "scope");

        return !scope || scope->kind == NODE_NULL || node_is_text(scope, "*");
}

static bool
members_are_known(const struct node *grant)
{
        node_each(member, grant)
        {
                bool is_known = false;

                for (size_t i = 0; i < sizeof grant_members / sizeof grant_members[0] && !is_known;
                     i++)
                        is_known = strcmp(member->key, grant_members[i]) == 0;
                if (!is_known)
                        return false;
        }
        return true;
}

static bool
is_absent(const struct node *n)
{
        return !n || n->kind == NODE_NULL;
}

static bool
is_revoked(const struct node *grant)
{
        const struct node *n = node_find(grant, "revoked");

        return !is_absent(n) && !(n->kind == NODE_BOOL && !n->boolean);
}

/* A TTL counts from granted_at. If that is missing or in the future, the grant is not in force. */
static bool
is_expired(const struct node *grant, int64_t now_s)
{
        const struct node *ttl = node_find(grant, "ttl_seconds");
        const struct node *from = node_find(grant, "granted_at");
        int64_t from_s;

        if (is_absent(ttl))
                return false;
        if (ttl->kind != NODE_INT || ttl->integer <= 0 || is_absent(from))
                return true;
        if (from->kind == NODE_INT)
                from_s = from->integer;
        else if (from->kind != NODE_STRING || grant_time_read(from->text, &from_s) < 0)
                return true;
        return from_s > now_s || now_s - from_s >= ttl->integer;
}

static bool
has_conditions(const struct node *grant)
{
        const struct node *n = node_find(grant, "conditions");

        if (is_absent(n))
                return false;
        return !((n->kind == NODE_LIST || n->kind == NODE_MAP) && n->len == 0);
}

/*
 * NULL if the grant applies, else the word for the reason against it. No kind of condition is known
 * yet: each one fails (G1).
 */
static const char *
why_it_falls(struct judging *j, const struct node *grant, const struct node *entry,
             const char *path)
{
        if (is_revoked(grant))
                return "explicit-revoke";
        if (is_expired(grant, j->request->now_s))
                return "ttl-expired";
        if (has_conditions(grant)) {
                unsatisfied(j, path, node_find(grant, "conditions"), "a condition of this grant");
                return "condition-failed";
        }
        if (!scope_is_open(entry)) {
                unsatisfied(j, path, node_find(entry, "scope"), "the scope of this grant");
                return "condition-failed";
        }
        if (!members_are_known(grant)) {
                unsatisfied(j, path, grant, "a member of this grant");
                return "condition-failed";
        }
        return NULL;
}

static void
note(struct judging *j, bool is_allowed, const char *reason, const char *grant_id)
{
        j->decision.is_allowed = is_allowed;
        j->decision.reason = reason;
        j->decision.grant_id = grant_id;
}

/*
 * Does this grant decide? The first that applies does; a rejected one leaves its reason for the
 * record.
 */
static bool
judge_grant(struct judging *j, const struct node *grant, const char *path)
{
        const struct node *id = node_find(grant, "id");
        const struct node *entry;
        const char *fall;

        if (grant->kind != NODE_MAP ||
            !principal_matches(node_find(grant, "principal"), j->request->principal))
                return false;
        entry = action_entry(node_find(grant, "actions"), j->request->action);
        if (!entry)
                return false;
        fall = why_it_falls(j, grant, entry, path);
        note(j, !fall, fall ? fall : "matched-grant",
             id && id->kind == NODE_STRING ? id->text : path);
        return !fall;
}

static bool
judge_grants(struct judging *j, const struct grant_policy *policy)
{
        const struct node *grants = node_find(policy->body, "grants");
        size_t index = 0;

        if (!grants || grants->kind != NODE_LIST)
                return false;
        node_each(grant, grants)
        {
                const char *path = arena_format(j->arena, "%s/grants/%zu", policy->path, index);

                if (!path || index++ >= GRANTS_MAX)
                        return false;
                if (judge_grant(j, grant, path))
                        return true;
        }
        return false;
}

/* -- what applies to every grant --------------------------------------------------------------- */

struct limit_row {
        const char *kind;
        size_t used;
};

static const struct limit_row limit_rows[] = {
        { "max-concurrent-sandboxes", offsetof(struct grant_usage, sandboxes) },
        { RATE_KIND, offsetof(struct grant_usage, tool_calls) },
        { RATE_DAY_BYTES_KIND, offsetof(struct grant_usage, egress_bytes) },
};

/* Is it a limit that the caller itself keeps later, call by call or byte by byte? */
static bool
is_kept_later(const struct grant_usage *usage, const struct node *limit)
{
        struct spec_rate rate;
        uint64_t bytes;

        return (usage->tool_calls == GRANT_USAGE_EACH && rate_read(limit, &rate) == 0) ||
               (usage->egress_bytes == GRANT_USAGE_EACH && rate_day_bytes_read(limit, &bytes) == 0);
}

static bool
limit_holds(struct judging *j, const struct node *limit, const char *path)
{
        const struct node *kind = node_find(limit, "kind");
        const struct node *value = rate_limit_value(limit);
        struct spec_rate rate;
        bool is_known = limit->kind == NODE_MAP &&
                        (rate_limit_is_plain(limit) || rate_read(limit, &rate) == 0);

        if (is_kept_later(&j->request->usage, limit))
                return true;
        for (size_t i = 0; kind && value && is_known && i < sizeof limit_rows / sizeof *limit_rows;
             i++) {
                uint64_t used;

                if (!node_is_text(kind, limit_rows[i].kind))
                        continue;
                memcpy(&used, (const char *)&j->request->usage + limit_rows[i].used, sizeof used);
                if (used < GRANT_USAGE_EACH)
                        return used < (uint64_t)value->integer;
        }
        unsatisfied(j, path, limit, "a limit of this policy");
        return false;
}

static bool
limits_hold(struct judging *j, const struct grant_policy *policy)
{
        const struct node *limits = node_find(policy->body, "limits");
        const char *path = arena_format(j->arena, "%s/limits", policy->path);
        bool all = true;

        if (is_absent(limits))
                return true;
        if (limits->kind != NODE_LIST || !path)
                return false;
        node_each(limit, limits) all = limit_holds(j, limit, path) && all;
        return all;
}

/* An approval is asked for later, at each operation; any other kind cannot be satisfied (G1). */
static bool
requirement_holds(struct judging *j, const struct node *n)
{
        struct spec_approval_from ignored;

        return requirement_read(j->arena, n, &ignored) == 0;
}

static bool
requirements_hold(struct judging *j, const struct grant_policy *policy)
{
        const struct node *n = node_find(policy->body, "requirements");
        const char *path = arena_format(j->arena, "%s/requirements", policy->path);

        bool all = true;

        if (is_absent(n))
                return true;
        node_each(item, n) all = all && requirement_holds(j, item);
        if (n->kind == NODE_LIST && all)
                return true;
        unsatisfied(j, path ? path : policy->path, n, "a requirement of this policy");
        return false;
}

static bool
defaults_to_allow(struct judging *j, const struct grant_policy *policy)
{
        const struct node *n = node_find(policy->body, "default");

        if (!node_is_text(n, "allow"))
                return false;
        warn_once(j, "policy_default_allow", policy->path, n,
                  "`default: allow` permits every action that no grant speaks of");
        return true;
}

static void
veto(struct judging *j, const struct grant_policy *policies, size_t count)
{
        for (size_t i = 0; i < count; i++) {
                if (!requirements_hold(j, &policies[i]))
                        note(j, false, "requirement-failed", NULL);
                else if (!limits_hold(j, &policies[i]))
                        note(j, false, "limit-exceeded", NULL);
        }
}

struct grant_decision
grant_decide(struct arena *arena, const struct grant_policy *policies, size_t count,
             const struct grant_request *request, struct findings *findings)
{
        struct judging j = { arena,
                             request,
                             findings,
                             { .reason = "no-grant",
                               .principal = request->principal,
                               .action = request->action,
                               .policy_count = count,
                               .evaluated_at_s = request->now_s } };
        bool is_open = count > 0;
        bool is_granted = false;

        for (size_t i = 0; i < count; i++)
                is_open = defaults_to_allow(&j, &policies[i]) && is_open;
        for (size_t i = 0; i < count && !is_granted; i++)
                is_granted = judge_grants(&j, &policies[i]);
        if (!is_granted && is_open && strcmp(j.decision.reason, "no-grant") == 0)
                note(&j, true, "default-allow", NULL);
        veto(&j, policies, count);
        if (arena_is_full(arena))
                note(&j, false, "no-grant", NULL);
        return j.decision;
}
