/*
 * box/box.h - the process of one sandbox that owns its execs: pipes, logs, deadlines, the journal. Links no other library than libc.
 */
#ifndef CARREL_BOX_BOX_H
#define CARREL_BOX_BOX_H

#include <stddef.h>

#include "wire/box.h"

enum {
        BOX_SPARE_IDLE_MS = 60000,     /* so long after a command the next one finds a spare ready (box/ahead.c) */
        BOX_OVERDUE_MS = 10000,        /* an exec that was killed and has not ended after this ends its box (box/limits.c) */
};

/* All descriptors are the box's from here on. */
struct box_start {
        struct wire_box_begin begin;
        int maker;                     /* seqpacket, as a keeper's to the maker */
        int guest;                     /* seqpacket, to pid 1 */
        int listener;                  /* seqpacket, for later keepers */
        int keeper;                    /* seqpacket, the first */
        int directory;                 /* of its state */
        const int *floors;  size_t floor_count;        /* writable sources whose free space is watched */
        uint32_t protocol;             /* BOX_PROTOCOL; tests say an older one */
        uint64_t spare_idle_ms;        /* BOX_SPARE_IDLE_MS; tests say another, 0: no spare */
        uint64_t overdue_ms;           /* BOX_OVERDUE_MS; tests say another */
        unsigned has_no_groups;        /* tests only */
};

/* Serves until the box is gone and that has been told. */
_Noreturn void box_serve(const struct box_start *start);

#endif
