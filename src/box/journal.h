/*
 * box/journal.h - the file `journal` in the state directory of a box: what the box reported or
 * would have reported (struct box_journal, wire/box.h).
 */
#ifndef CARREL_BOX_JOURNAL_H
#define CARREL_BOX_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "wire/box.h"

struct journal {
        int directory, fd; /* the directory is borrowed; fd -1: no journal, and nothing
                            * is written */
        uint64_t len;      /* bytes of complete entries */
};

enum { JOURNAL_LONG = 1 << 20 }; /* bytes beyond which it is rewritten */

/* Creates the file with its first entry. 0 or -errno; after an error, later calls do nothing. */
int journal_open(struct journal *j, int directory, uint32_t protocol);
void journal_close(struct journal *j);

/*
 * Appends one entry with one write. Truncates a partial one, so the file always ends with a
 * complete entry. 0 or -errno.
 */
int journal_append(struct journal *j, uint32_t kind, uint32_t exec,
                   const struct wire_box_listed *listed);

/*
 * Rewrites the journal under another name: begin, append the entries to keep, end. `end` replaces
 * the old file; after a failure the old file stays in use.
 */
int journal_begin_anew(const struct journal *j, struct journal *ret, uint32_t protocol);
int journal_end_anew(struct journal *j, struct journal *take_anew);

#endif
