/*
 * keeper/ladder.h - the start of the keeper, rung by rung.
 */
#ifndef CARREL_KEEPER_LADDER_H
#define CARREL_KEEPER_LADDER_H

#include "base/error.h"

/*
 * Lets go of what the keeper does not need: no new privileges, as root no capability but the one to look, no write outside `state`, not
 * dumpable. (Leases are the makers' to write.) Errors: ERROR_BACKEND_FAILED; ERROR_CAPABILITY_UNAVAILABLE as root without Landlock.
 */
int ladder_climb(const char *state, struct error *e);

#endif
