/*
 * box/journal.h - what a box has told or would have told, in the file `journal` of its state directory (struct box_journal, wire/box.h).
 */
#ifndef CARREL_BOX_JOURNAL_H
#define CARREL_BOX_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "wire/box.h"

struct journal {
        int directory, fd;             /* the directory is borrowed; fd -1: there is none, and nothing is written */
        uint64_t len;                  /* bytes of whole entries */
};

enum { JOURNAL_LONG = 1 << 20 };       /* bytes past which it is worth writing anew */

/* Makes the file, with its first entry. 0 or -errno; then the journal takes every word and keeps none. */
int journal_open(struct journal *j, int directory, uint32_t protocol);
void journal_close(struct journal *j);

/* Appends one entry in one write. A torn one is taken back, so that what stands there is always whole. 0 or -errno. */
int journal_append(struct journal *j, uint32_t kind, uint32_t exec, const struct wire_box_listed *listed);

/*
 * Writes it anew under another name: begin, append what is to stay, end. The old one stands until `end`, which puts the new one in its place;
 * after a failure the old one goes on.
 */
int journal_begin_anew(const struct journal *j, struct journal *ret, uint32_t protocol);
int journal_end_anew(struct journal *j, struct journal *take_anew);

#endif
