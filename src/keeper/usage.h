/*
 * keeper/usage.h - what sandboxes used, as their boxes report it, in the store.
 */
#ifndef CARREL_KEEPER_USAGE_H
#define CARREL_KEEPER_USAGE_H

#include "keeper/sandbox.h"

/* A box reported its totals: struct wire_box_used, or as much of it as an older box knows. */
void usage_hear(struct box *b, const void *body, size_t len);

/* Stores the totals in the journal of a box that has ended, if it wrote them. */
void usage_bury(struct box *b);

/* KiB times milliseconds in the unit of answers. */
uint64_t usage_byte_seconds(uint64_t kb_ms);

/* Asks every box for its totals, which arrive later. */
void usage_ask(struct keeper *k);

#endif
