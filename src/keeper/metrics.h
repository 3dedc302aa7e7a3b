/*
 * keeper/metrics.h - counts of what happened since the keeper started, for the operation metrics.
 */
#ifndef CARREL_KEEPER_METRICS_H
#define CARREL_KEEPER_METRICS_H

#include "event/event.h"
#include "outcome/outcome.h"

struct metrics {
        uint64_t created, started;
        uint64_t ended[OUTCOME_MAX], not_started; /* commands, by how they ended */
};

/* Counts an event, once for each that is published. */
void metrics_count(struct metrics *m, const struct event *e);

#endif
