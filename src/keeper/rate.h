/*
 * keeper/rate.h - limits on the rate of an owner's calls (rate-tool-calls of AIP-38).
 *
 * Commands, code and operations on files are calls of tools. Those in sandboxes whose policy has
 * such a limit are counted, for the owner; a period begins with its first call.
 */
#ifndef CARREL_KEEPER_RATE_H
#define CARREL_KEEPER_RATE_H

#include "keeper/keeper.h"

/*
 * Counts the call, once. 0, or -1: ERROR_POLICY_DENIED, reason "limit-exceeded", if a limit of the
 * policy of its sandbox is reached; ERROR_QUOTA_EXCEEDED, ERROR_NO_MEMORY: it cannot be counted.
 */
int rate_take(struct call *c, struct error *e);

#endif
