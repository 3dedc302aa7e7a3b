/*
 * keeper/usage.h - what sandboxes used, as their boxes report it, in the store.
 */
#ifndef CARREL_KEEPER_USAGE_H
#define CARREL_KEEPER_USAGE_H

#include "keeper/sandbox.h"

/* A box reported its totals (struct wire_box_used, all of it). */
void usage_hear(struct box *b, const void *body);

/* Stores the totals in the journal of a box that has ended, if it wrote them. */
void usage_bury(struct box *b);

/* Asks every box for its totals, which arrive later. */
void usage_ask(struct keeper *k);

#endif
