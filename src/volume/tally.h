/*
 * volume/tally.h - counts how much a directory holds on disk, a part at a time, while its owner
 * writes to it.
 */
#ifndef CARREL_VOLUME_TALLY_H
#define CARREL_VOLUME_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TALLY_DEPTH_MAX = 512, TALLY_FILE_BYTES = 4096 };

struct tally {
        int top, at;     /* the directory (borrowed), and where the walk is; at -1: not begun */
        bool opens_up;   /* set by the caller: makes closed directories readable for their owner */
        bool has_gaps;   /* something was not counted: closed, or deeper than TALLY_DEPTH_MAX */
        unsigned breaks; /* walks that were broken off, because the owner moved directories, since
                          * the last complete one */
        size_t depth;    /* of `at` below `top` */
        struct {
                uint64_t inode;
                int64_t next;      /* position in the directory where the walk continues */
        } levels[TALLY_DEPTH_MAX]; /* each directory on the way */
        int64_t next;              /* the same position, of `at` */
        uint64_t bytes;            /* so far */
};

void tally_init(struct tally *t, int top);

/* Accepts one that tally_init() has not seen, if it is all zero bits but for `at`, -1. */
void tally_fini(struct tally *t);

/*
 * Looks at `budget` entries at most. 1: everything was seen, *ret_bytes is what it takes on disk,
 * and the next call begins again; 0: the next call continues, and *ret_bytes is what was seen so
 * far. Each file counts as TALLY_FILE_BYTES at least; one with several names counts in part under
 * each. Files without a name that are open are not seen. A file that is moved meanwhile may count
 * twice or not at all.
 */
int tally_look(struct tally *t, uint64_t budget, uint64_t *ret_bytes);

#endif
