/*
 * keeper/limiting.h - limits of a sandbox that runs: what its box says of them.
 *
 *   limits.set --audit entry on the disk--> asked --WIRE_BOX_LIMITED--> stored, answered
 *                                             |                \-- not stored: taken back
 *                                             +-- refused, or the box is lost: nothing stored
 *
 * One change at a time for each box; other calls wait for their turn. A caller that leaves does not
 * stop a change. If this keeper is lost before it has stored one, the box takes it back.
 */
#ifndef CARREL_KEEPER_LIMITING_H
#define CARREL_KEEPER_LIMITING_H

#include "keeper/sandbox.h"

/* The box answered: calls that wait for that begin again. */
void limiting_hear(struct box *b, const struct wire_limited *told);

/* The connection to the box is closed: they fail. */
void limiting_gone(struct box *b);

#endif
