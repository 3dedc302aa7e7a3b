/*
 * box/box.h - the process of one sandbox that owns its execs: pipes, logs, deadlines, the journal.
 * Links only libc.
 */
#ifndef CARREL_BOX_BOX_H
#define CARREL_BOX_BOX_H

#include <stddef.h>

#include "wire/box.h"

struct engine;

enum {
        /* an exec that was killed and has not ended after this time ends its box (box/limits.c) */
        BOX_OVERDUE_MS = 10000,
};

/* What a box starts with. The box takes all descriptors. */
struct box_start {
        struct wire_box_begin begin;
        struct engine *engine; /* what runs the commands (box/engine.h); not begun */
        int listener;          /* seqpacket, for later keepers; -1: none */
        int keeper;            /* seqpacket, the first */
        int directory;         /* of its state; -1: none */
        /* writable sources whose free space is monitored */
        const int *floors;
        size_t floor_count;
        uint32_t protocol;   /* BOX_PROTOCOL; tests set an older one */
        uint64_t overdue_ms; /* BOX_OVERDUE_MS; tests set another value */
};

/* Serves until the box has ended and its end was reported. */
_Noreturn void box_serve(const struct box_start *start);

#endif
