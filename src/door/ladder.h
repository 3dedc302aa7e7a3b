/*
 * door/ladder.h - the door drops its own privileges before it reads a byte of input.
 */
#ifndef CARREL_DOOR_LADDER_H
#define CARREL_DOOR_LADDER_H

#include "base/error.h"

/*
 * Sets no-new-privileges; drops all capabilities; forbids access to all files (Landlock without any
 * rule), core dumps and debuggers; limits descriptors. Errors: ERROR_INTERNAL.
 */
int ladder_close_world(struct error *e);

#endif
