/*
 * policy/approval_from.c - what a required approval makes wait, and who may give it.
 *
 * Room: policy (deciding, pure). Touches: nothing.
 */
#include "policy/approval_from.h"

#include <string.h>

#include "policy/grant.h"
#include "spec/approve.h"

/* -- which operations -------------------------------------------------------------------------- */

static bool
covers(const struct spec_approval_from *r, const char *action)
{
        if (r->actions.count == 0)
                return true;
        for (size_t i = 0; i < r->actions.count; i++)
                if (grant_action_covers(r->actions.items[i], action))
                        return true;
        return false;
}

bool
approval_from_applies(const struct spec *spec, const struct spec_approval_from *r,
                      const char *operation)
{
        const char *action = spec_approve_action(operation);

        if (!action)
                return false;
        return covers(r, action) || (strcmp(action, SPEC_ACTION_EXECUTE) == 0 &&
                                     spec->egress_count > 0 && covers(r, SPEC_ACTION_EGRESS));
}

bool
approval_from_waits(const struct spec *spec, const struct host_rules *rules, const char *operation)
{
        if (host_names_have(&spec->carrel.approve, operation) ||
            host_names_have(&rules->approve, operation))
                return true;
        for (size_t i = 0; i < spec->approval_from_count; i++)
                if (approval_from_applies(spec, &spec->approval_from[i], operation))
                        return true;
        return false;
}

/* -- who --------------------------------------------------------------------------------------- */

/* What follows the prefix, or NULL. */
static const char *
after(const char *text, const char *prefix)
{
        size_t len = strlen(prefix);

        return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

bool
approval_from_names(const char *party, const char *owner, const char *principal, const char *own)
{
        const char *uid = after(party, "operator://uid-"), *of = after(owner, "uid:"),
                   *user = after(party, "user://");

        if (strcmp(party, "*") == 0 || strcmp(party, owner) == 0)
                return true;
        if (principal && strcmp(party, principal) == 0)
                return strcmp(owner, own) == 0;
        if (uid)
                return of && strcmp(uid, of) == 0;
        return user && !of && strcmp(user, owner) == 0;
}
