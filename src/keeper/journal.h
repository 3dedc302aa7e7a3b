/*
 * keeper/journal.h - reads what a box recorded for the time after its end (struct box_journal,
 * wire/box.h).
 */
#ifndef CARREL_KEEPER_JOURNAL_H
#define CARREL_KEEPER_JOURNAL_H

#include "wire/box.h"

/* Called for each entry about an exec, in order; the argument is borrowed for the call. */
struct journal_reader {
        void (*learn)(void *context, const struct wire_box_listed *l);
        /* before its end; NULL: not called */
        void (*streams)(void *context, const struct wire_box_streams *said);
};

/*
 * Reads BOXES/ID/journal up to the first incomplete entry. 1: the journal says how the box ended,
 * written to `ret`; 0: it does not, or no journal exists.
 */
int journal_read(int boxes, const char *id, const struct journal_reader *reader, void *context,
                 struct wire_box_gone *ret);

/* The totals that the box wrote there before it ended: 1, or 0 if it wrote none. */
int journal_used(int boxes, const char *id, struct wire_box_used *ret);

#endif
