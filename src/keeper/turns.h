/*
 * keeper/turns.h - picks the next call: round robin by owner, so that an owner with many calls does
 * not delay the others.
 */
#ifndef CARREL_KEEPER_TURNS_H
#define CARREL_KEEPER_TURNS_H

#include "base/error.h"

struct call;
struct keeper;

/*
 * Queues a checked call behind those of its owner (c->caller). Errors: ERROR_QUOTA_EXCEEDED (the
 * owner has too many calls here and is not the daemon's own user), ERROR_NO_MEMORY.
 */
int turns_add(struct call *c, struct error *e);

/*
 * Begins queued calls for a short time. Call it between two turns of the loop. If calls remain, the
 * loop turns again at once.
 */
void turns_serve(struct keeper *k);

/* The call ended: its owner has one less. Accepts a call that was never added. */
void turns_forget(struct call *c);

#endif
