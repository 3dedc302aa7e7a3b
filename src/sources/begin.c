/*
 * sources/begin.c - the message that begins a box.
 *
 * Room: sources (joining). Touches: nothing.
 */
#include "sources/begin.h"

#include <string.h>

#include "plan/pack.h"

static void
mark_writable(struct wire_box_begin *begin, const struct sources *sources)
{
        for (size_t i = 0; i < sources_total(sources); i++)
                for (size_t j = 0; j < sources_floors(sources); j++)
                        if (sources->writable[j] == sources->fds[i])
                                begin->floor_mask[i / 64] |= UINT64_C(1) << (i % 64);
}

size_t
begin_write(struct wire_box_begin begin, const struct plan *plan, const struct sources *sources,
            unsigned char *out, struct error *e)
{
        size_t len = plan_pack_len(plan->steps, plan->step_count);

        _Static_assert(sizeof begin % 8 == 0, "a packed plan is aligned");
        if (len == 0 || len > WIRE_BODY_MAX - sizeof begin || plan->source_count > PLAN_SOURCES_MAX)
                return (void)fail(e, ERROR_QUOTA_EXCEEDED,
                                  "the plan is too large: %zu steps, %zu sources", plan->step_count,
                                  plan->source_count),
                       0;
        begin.floor_mb = plan->disk_floor_mb;
        if (sources)
                mark_writable(&begin, sources);
        memcpy(out, &begin, sizeof begin);
        plan_pack(plan->steps, plan->step_count, plan->source_count, out + sizeof begin);
        return sizeof begin + len;
}
