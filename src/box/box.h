/*
 * box/box.h - the process of one sandbox that owns its execs: pipes, logs, deadlines, the journal.
 * Links only libc.
 */
#ifndef CARREL_BOX_BOX_H
#define CARREL_BOX_BOX_H

#include <stddef.h>

#include "wire/box.h"

enum {
        /* after this idle time no spare is kept ready for the next command (box/ahead.c) */
        BOX_SPARE_IDLE_MS = 60000,
        /* an exec that was killed and has not ended after this time ends its box (box/limits.c) */
        BOX_OVERDUE_MS = 10000,
};

/* What a box starts with. The box takes all descriptors. */
struct box_start {
        struct wire_box_begin begin;
        int maker;     /* seqpacket, to the maker, like a keeper's */
        int guest;     /* seqpacket, to pid 1 */
        int listener;  /* seqpacket, for later keepers */
        int keeper;    /* seqpacket, the first */
        int directory; /* of its state */
        /* writable sources whose free space is monitored */
        const int *floors;
        size_t floor_count;
        uint32_t protocol;      /* BOX_PROTOCOL; tests set an older one */
        uint64_t spare_idle_ms; /* BOX_SPARE_IDLE_MS; tests set another value; 0: no spare */
        uint64_t overdue_ms;    /* BOX_OVERDUE_MS; tests set another value */
        unsigned has_no_groups; /* tests only */
};

/* Serves until the box has ended and its end was reported. */
_Noreturn void box_serve(const struct box_start *start);

#endif
