/*
 * door/facades.c - the APIs of the server: a row for each.
 *
 * Room: door (joining). Touches: nothing.
 */
#include "door/facades.h"

#include "door/mcp_http.h"
#include "rest/rest.h"

const struct facade *const door_facades[] = { &rest_facade, &mcp_facade, NULL };
