/*
 * box/meter.h - what a box has used since it began: the source of `carrel usage`.
 */
#ifndef CARREL_BOX_METER_H
#define CARREL_BOX_METER_H

#include "box/state.h"

/* Counts an exec that ended. Quiet ones, which the keeper started, are not counted. */
void meter_exec(struct box *b, const struct exec *x);

/* Counts a connection, as the gate reported it at its end. */
void meter_egress(struct box *b, const struct wire_wall_allowed *a);

/* Totals until now. They never decrease from one call to the next. */
struct wire_box_used meter_read(struct box *b);

#endif
