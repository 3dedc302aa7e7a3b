/*
 * mcp/tools_refused.h - reports what the wall refused to a command, together with how the command
 * ended.
 */
#ifndef CARREL_MCP_TOOLS_REFUSED_H
#define CARREL_MCP_TOOLS_REFUSED_H

#include "mcp/server.h"

/*
 * Handles the end of a command: calls `then` at once, or when the keeper has reported what was
 * refused to the command. r->exec.exec is its number.
 */
void tools_ended(struct mcp_request *r, const struct channel_end *end, tools_ended_fn *then);

/*
 * Writes `fields`, as passed to `then`, into an open map: denied, denied_more. Writes nothing if
 * nothing was refused.
 */
void tools_refused_members(struct json_writer *w, const struct record *fields);

/* Appends the same as lines of text. */
void tools_refused_text(struct mcp_bytes *text, const struct record *fields);

/*
 * Appends the limits (enum outcome_limit) that the command reached without being ended by them.
 * Nothing if there were none.
 */
void tools_limits_text(struct mcp_bytes *text, unsigned reached);

#endif
