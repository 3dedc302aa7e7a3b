/*
 * keeper/turns.h - whose call is next: one of each owner in turn, however many some have sent.
 */
#ifndef CARREL_KEEPER_TURNS_H
#define CARREL_KEEPER_TURNS_H

#include "base/error.h"

struct call;
struct keeper;

/*
 * A call that was judged waits for its turn, behind those of its owner (c->caller). Errors: ERROR_QUOTA_EXCEEDED (that owner has too many calls here, and is
 * not the daemon's own user), ERROR_NO_MEMORY.
 */
int turns_add(struct call *c, struct error *e);

/* Begins calls for a moment; between two turns of the loop. What is left has the loop turn again at once. */
void turns_serve(struct keeper *k);

/* The call ends: one less of its owner. Accepts one that never was added. */
void turns_forget(struct call *c);

#endif
