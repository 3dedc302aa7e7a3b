/*
 * door/facades.h - the APIs of the server.
 */
#ifndef CARREL_DOOR_FACADES_H
#define CARREL_DOOR_FACADES_H

#include "http/route.h"

/* Ends with NULL. */
extern const struct facade *const door_facades[];

#endif
