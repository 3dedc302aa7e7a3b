/*
 * mcp/tools_refused.h - what the wall refused a command, told with how it ended.
 */
#ifndef CARREL_MCP_TOOLS_REFUSED_H
#define CARREL_MCP_TOOLS_REFUSED_H

#include "mcp/server.h"

/* A command ended: goes on with `then`, at once or when the keeper has said what was refused to it. r->exec.exec is its number. */
void tools_ended(struct mcp_request *r, const struct channel_end *end, tools_ended_fn *then);

/* `fields` as `then` was given them. Members of an open map: denied, denied_more; none where there was nothing. */
void tools_refused_members(struct json_writer *w, const struct record *fields);

/* The same as lines of text, behind what stands there already. */
void tools_refused_text(struct mcp_bytes *text, const struct record *fields);

/* The limits (enum outcome_limit) that it met and that did not end it, as words; nothing where there were none. */
void tools_limits_text(struct mcp_bytes *text, unsigned reached);

#endif
