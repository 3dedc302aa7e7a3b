/*
 * recorder/retention.c - applies the retention to one log, while entries go on.
 *
 * Room: recorder (joining). Touches: the files of one audit log, clock.
 */
#include "recorder/retention.h"

#include <stddef.h>

#include "clock/clock.h"

int
retention_start(struct retention *r, const char *place, struct owner *of, uint64_t keep_ms,
                struct error *e)
{
        if (audit_log_open(&r->log, place, false, e) < 0)
                return -1;
        audit_retain_init(&r->prune, &r->log, keep_ms, clock_wall_ms());
        r->of = of;
        return 0;
}

void
retention_stop(struct retention *r)
{
        if (!r->of)
                return;
        audit_prune_fini(&r->prune);
        audit_log_close(&r->log);
        r->of = NULL;
}

int
retention_step(struct retention *r, uint64_t *ret_seq, struct error *e)
{
        int result = audit_retain_step(&r->prune, RETENTION_STEP, e);

        if (r->prune.done.files > 0)
                *ret_seq = r->prune.done.seq;
        if (result <= 0)
                retention_stop(r);
        return result < 0 ? -1 : 0;
}
