/*
 * keeper/ladder.h - drops the keeper's privileges at its start, step by step.
 */
#ifndef CARREL_KEEPER_LADDER_H
#define CARREL_KEEPER_LADDER_H

#include "base/error.h"

/*
 * Drops what the keeper does not need: no new privileges, as root no capability except the one to
 * read, no write outside `state`, not dumpable. (Only makers write leases.) Errors:
 * ERROR_BACKEND_FAILED; ERROR_CAPABILITY_UNAVAILABLE as root without Landlock.
 */
int ladder_climb(const char *state, struct error *e);

#endif
