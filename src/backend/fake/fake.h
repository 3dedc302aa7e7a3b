/*
 * backend/fake/fake.h - a backend that makes no process: it plays a box and its guest by a script,
 * and notes what it was asked. With it, everything above backends is tried without privileges,
 * namespaces or luck.
 */
#ifndef CARREL_BACKEND_FAKE_FAKE_H
#define CARREL_BACKEND_FAKE_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "wire/message.h"

enum fake_end {
        FAKE_EXITED,      /* number: exit status */
        FAKE_SIGNALED,    /* number: signal */
        FAKE_NEVER_ENDS,  /* until it is killed */
        FAKE_SILENT,      /* the guest goes without a word, and the box with it */
        FAKE_EXEC_FAILED, /* number: errno, stage: where */
        FAKE_BOX_FAILED,  /* the guest's word: number: errno, step: which */
        FAKE_MAKE_FAILED, /* the backend's word: number: errno, step: which */
        FAKE_MAKER_LOST,  /* the backend itself is gone after the start; the guest stays open */
        FAKE_REFUSES,     /* start() fails */
};

struct fake_script {
        enum fake_end end;
        int number;
        uint32_t stage, step;
        bool never_starts;          /* the guest does not say that the command started */
        bool ends_twice;            /* the guest tells a second, different end */
        bool closes_late;           /* the guest's socket stays open after the box is gone */
        const char *out, *err;      /* what the command writes, NULL: nothing */
        size_t out_times;           /* how often it writes `out`; 0 is once */
        uint64_t cpu_step_ns;       /* added with each reading of the CPU time; 0: not counted */
        uint64_t cpu_ns, oom_kills; /* told at the end */
        void (*on_turn)(unsigned turn); /* called whenever the descriptor is asked for, from 1 on */
};

struct fake_record {
        unsigned starts, reads, kills, closes, turns;
        size_t argc, fd_count; /* of the command, as it arrived */
        char first[64];        /* its first word */
        int signals[8];
        size_t signal_count; /* forwarded to the guest, in order */
        struct wire_exec exec;
};

extern const struct backend backend_fake;

/* What the next box does; borrowed until it is closed. Clears the record. */
void fake_play(const struct fake_script *script);

/* What was asked since then. */
const struct fake_record *fake_record(void);

#endif
