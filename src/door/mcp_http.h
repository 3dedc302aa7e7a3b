/*
 * door/mcp_http.h - POST /mcp: the Model Context Protocol as Streamable HTTP, without sessions.
 */
#ifndef CARREL_DOOR_MCP_HTTP_H
#define CARREL_DOOR_MCP_HTTP_H

#include "http/exchange.h"
#include "http/route.h"

/*
 * The URL selects how requests are served, because every MCP client can be given a URL. Its
 * parameters: ?sandbox=ID, ?context=KEY, ?cache_key=FIELD, ?runtime=NAME, ?risk=low,
 * ?tool_names=plain, ?keep_background=true, ?instructions=resolve, ?manage=true. The headers
 * Carrel-Sandbox and Carrel-Context-Key do the same as the first two.
 */
void mcp_http(struct exchange *x, const struct route *r);

/* Its one route. */
extern const struct facade mcp_facade;

#endif
