/*
 * run/result.c - what one run leaves.
 *
 * Room: run (joining). Touches: mem.
 */
#include "run/result.h"

#include <stdlib.h>

void
run_result_fini(struct run_result *r)
{
        free(r->out);
        free(r->err);
        free(r->denials);
        free(r->kept);
        r->kept = NULL;
        r->denials = NULL;
        r->out = r->err = NULL;
}
