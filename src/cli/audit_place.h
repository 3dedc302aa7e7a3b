/*
 * cli/audit_place.h - where the caller's own audit log is.
 */
#ifndef CARREL_CLI_AUDIT_PLACE_H
#define CARREL_CLI_AUDIT_PLACE_H

#include "base/arena.h"
#include "base/error.h"

/*
 * The directory of the caller's own log: `named`, else audit/uid:N in the state directory
 * (`state`, or NULL: as state_choose() says). Absolute, in `arena`. Errors: those of
 * state_choose(), ERROR_AUDIT_UNAVAILABLE (no such directory).
 */
int audit_place(struct arena *arena, const char *named, const char *state, const char **ret,
                struct error *e);

#endif
