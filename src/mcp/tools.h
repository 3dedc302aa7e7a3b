/*
 * mcp/tools.h - the tools that models see: one row each, always listed in this order.
 */
#ifndef CARREL_MCP_TOOLS_H
#define CARREL_MCP_TOOLS_H

#include <stdbool.h>

#include "mcp/tool.h"
#include "text/json.h"

/* Returns the tool with this name, in the spelling that `flags` (enum mcp_flag) select; or NULL. */
const struct tool *tool_find(const char *name, unsigned flags);

/* Writes the list of tools/list with the tools that this request may see. */
void tools_write(struct json_writer *w, const struct mcp_request *r);

/* Runs r->tool, if this request may use it. */
void tool_run(struct mcp_request *r);

/* Mastra's three (tools_mastra.c). */
void tool_execute_command(struct mcp_request *r);
void tool_get_process_output(struct mcp_request *r);
void tool_kill_process(struct mcp_request *r);

/*
 * Carrel's own: operations that answer at once (tools_plain.c), execs (tools_exec.c), files
 * (tools_files.c).
 */
void tool_plain(struct mcp_request *r);
void tool_clear_cache(struct mcp_request *r);
void tool_exec(struct mcp_request *r);
void tool_exec_output(struct mcp_request *r);
void tool_read_file(struct mcp_request *r);
void tool_write_files(struct mcp_request *r);
void tool_list_files(struct mcp_request *r);

#endif
