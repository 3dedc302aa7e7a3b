/*
 * keeper/journal.h - what a box wrote down for whoever comes after it (struct box_journal, wire/box.h).
 */
#ifndef CARREL_KEEPER_JOURNAL_H
#define CARREL_KEEPER_JOURNAL_H

#include "wire/box.h"

/*
 * Reads BOXES/ID/journal as far as its entries are whole: calls `learn` for each that tells of an exec, in their order, borrowed for the call.
 * 1: it says how the box went, written to `ret`; 0: it does not, or there is none.
 */
int journal_read(int boxes, const char *id, void (*learn)(void *context, const struct wire_box_listed *l), void *context, struct wire_box_gone *ret);

#endif
