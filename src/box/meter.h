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

/* The keeper says what its volumes hold. */
void meter_volumes(struct box *b, uint64_t kb);

/* Memory and disks are looked at each second while a command runs and the box is not frozen. */
void meter_watch(struct box *b);

/* How many bytes of the totals this box sends: all, but for tests of older versions. */
size_t meter_len(const struct box *b);

/* Totals until now. They never decrease from one call to the next. */
struct wire_box_used meter_read(struct box *b);

#endif
