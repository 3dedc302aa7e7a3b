/*
 * backend/backend.h - a way of isolating, as callers see it: a plan becomes a box, the box ends
 * once.
 *
 * The caller that starts a box keeps its guest's control socket and sends messages to the guest
 * (wire/message.h); the backend only makes, kills and cleans. A backend is one struct of functions;
 * backends never include each other.
 */
#ifndef CARREL_BACKEND_BACKEND_H
#define CARREL_BACKEND_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"

enum backend_news_kind {
        BACKEND_QUIET,   /* nothing to read just now */
        BACKEND_SPAWNED, /* the box's first process exists; counters may be read */
        BACKEND_KEPT,    /* something became of a name that programs of the host act on */
        BACKEND_FAILED,  /* it could not be made; error is set, nothing is left behind */
        BACKEND_ENDED,   /* the box is gone and everything made for it is undone */
};

struct backend_news {
        enum backend_news_kind kind;
        unsigned kept;
        int kept_sys; /* BACKEND_KEPT: enum wire_kept_what, and errno where it was stuck */
        char name[760], place[1024],
                key[256]; /* BACKEND_KEPT: the name on the host; where it is now or ""; of a
                             configuration, what may not change */
        uint64_t cpu_ns, oom_kills; /* BACKEND_ENDED, where groups count them; else 0. cpu_ns also
                                       where it was killed, of what was seen just before */
        uint64_t pids_refused; /* BACKEND_ENDED, where a group counts: tasks that were not started
                                  for limits.pids */
        uint64_t peak_bytes; /* BACKEND_ENDED, where it was killed: of the largest process that was
                                seen just before; else 0 */
        struct error error;  /* BACKEND_FAILED */
};

struct backend_box; /* the backend's own */

struct backend {
        const char *name;

        /*
         * Begins to make a box. `sources` are the plan's, in order, borrowed; `guest` is the
         * guest's end of its control socket, borrowed. Gives a box to be ended with close().
         * Errors: ERROR_BACKEND_FAILED, ERROR_QUOTA_EXCEEDED.
         */
        int (*start)(struct backend_box **ret, const struct plan *plan, const int *sources,
                     int guest, struct error *e);

        /* The descriptor that becomes readable when there is news. */
        int (*descriptor)(const struct backend_box *box);

        /* Reads news without waiting. 0, or -1 when the backend itself is lost. */
        int (*read)(struct backend_box *box, struct backend_news *ret, struct error *e);

        /* Nanoseconds of CPU time used so far, UINT64_MAX if it is not counted. */
        uint64_t (*cpu_ns)(const struct backend_box *box);

        /* Ends every process of the box, now. Any number of times. */
        void (*kill)(struct backend_box *box);

        /* Kills if it still lives, waits until everything is undone, frees. Accepts NULL. */
        void (*close)(struct backend_box *box);
};

/* A step that failed, told so that the author of the manifest knows what to change. Always returns
 * -1. */
int backend_step_failed(struct error *e, const struct plan *plan, size_t step, int sys);

#endif
