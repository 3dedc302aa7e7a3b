/*
 * keeper/day.h - the bytes that the sandboxes of an owner may send in a day
 * (max-egress-bytes-per-day of AIP-38).
 *
 * The count is the owner's: of all its sandboxes whose policy has such a limit. The gate has parts
 * of what is left (gate/quota.h). A part counts as sent, in the store too, until the gate gives
 * back what it did not send.
 */
#ifndef CARREL_KEEPER_DAY_H
#define CARREL_KEEPER_DAY_H

#include "keeper/sandbox.h"

/*
 * The gate asks for bytes, or gives some back. `b`: the box whose wall it is, NULL: there is none
 * any more. 0, or -1: the gate has ended.
 */
int day_hear(struct keeper *k, struct box *b, const struct wire_gate_quota_ask *ask);

/* The gate has ended: what it had stays counted. */
void day_forget(void);

/* What is counted of this owner today; STORE_UNKNOWN: nothing was, or it cannot be read. */
uint64_t day_bytes(const struct keeper *k, const char *owner);

#endif
