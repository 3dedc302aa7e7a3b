/*
 * run/result.h - what one run leaves: its outcome, what it printed, what was refused and kept.
 */
#ifndef CARREL_RUN_RESULT_H
#define CARREL_RUN_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "boxstate/refusals.h"
#include "outcome/outcome.h"

/* What happened to a name in a workspace on which host programs act. */
struct run_kept {
        unsigned what; /* enum wire_kept_what */
        int sys;       /* errno if it could not be moved */
        /* host path; where it is now, or ""; for a configuration: the key that may not change */
        char name[760], place[1024], key[256];
};

enum { RUN_KEPT_MAX = 128 };

struct run_result {
        struct outcome outcome;
        char *out, *err; /* captured; owned by the result */
        size_t out_len, err_len;
        uint64_t out_dropped, err_dropped;
        /* errno, if writing standard output failed for a reason other than a closed reader; else
         * 0 */
        int out_error;
        struct run_kept *kept;
        size_t kept_count; /* owned by the result */
        /* destinations in the order of their first refusal, each with a count; owned by the
         * result */
        struct refusal *denials;
        size_t denial_count;
        uint64_t denied_more; /* refused requests that are not listed in `denials` */
        bool has_no_gate;     /* at the end there was no gate, though there was a wall */
};

void run_result_fini(struct run_result *r);

#endif
