/*
 * keeper/metrics.c - counts what is published.
 *
 * Room: keeper (joining). Touches: nothing.
 * Theory: a counter begins at 0 when the keeper starts, which a scraper takes for a restart.
 */
#include "keeper/metrics.h"

void
metrics_count(struct metrics *m, const struct event *e)
{
        if (e->kind == EVENT_CREATED)
                m->created++;
        else if (e->kind == EVENT_EXEC_STARTED)
                m->started++;
        else if (e->kind == EVENT_EXEC_ENDED && e->end)
                m->ended[e->end->word]++;
        else if (e->kind == EVENT_EXEC_ENDED)
                m->not_started++;
}
