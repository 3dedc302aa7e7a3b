/*
 * door/ladder.h - the door closes the world behind itself before it reads a byte.
 */
#ifndef CARREL_DOOR_LADDER_H
#define CARREL_DOOR_LADDER_H

#include "base/error.h"

/* No new privileges, no capabilities, no file (Landlock with no rule at all), no core, no debugger, a bound on descriptors. Errors: ERROR_INTERNAL. */
int ladder_close_world(struct error *e);

#endif
