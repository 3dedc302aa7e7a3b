/*
 * mcp/tools.h - the tools that models see: one row each. Listed in this order, always.
 */
#ifndef CARREL_MCP_TOOLS_H
#define CARREL_MCP_TOOLS_H

#include <stdbool.h>

#include "api/operation.h"
#include "text/json.h"

struct mcp_request;

enum tool_flag {
        TOOL_MASTRA = 1u << 0,         /* one of Mastra's three: texts to the letter, a name with and without prefix */
        TOOL_CONFIGURED = 1u << 1,     /* listed only where a sandbox is configured */
        TOOL_SANDBOX = 1u << 2,        /* about one sandbox: takes sandbox_id, unless one is configured */
        TOOL_MANAGE = 1u << 6,         /* the owner's business: only where the model manages sandboxes */
        TOOL_OWNED = 1u << 7,          /* shows what is the owner's: not where a context chooses, unless the model manages sandboxes */
        TOOL_READ_ONLY = 1u << 3, TOOL_DESTRUCTIVE = 1u << 4, TOOL_IDEMPOTENT = 1u << 5,     /* hints for the client */
};

struct tool {
        const char *name;              /* without prefix */
        const char *title, *help;
        unsigned flags;                /* enum tool_flag */
        enum operation_code op;        /* whose table gives the schemas; 0: `input` does */
        const uint16_t *leave_out;     /* parameters of the operation that the tool does not take, ended by 0; or NULL */
        const char *input;             /* JSON Schema as text, or NULL */
        void (*run)(struct mcp_request *r);
};

/* The tool of this name, as `flags` (enum mcp_flag) spells names; or NULL. */
const struct tool *tool_find(const char *name, unsigned flags);

/* The list of tools/list, as this request may see it. */
void tools_write(struct json_writer *w, const struct mcp_request *r);

/* Serves r->tool, if this request may use it. */
void tool_run(struct mcp_request *r);

/* Mastra's three (tools_mastra.c). */
void tool_execute_command(struct mcp_request *r);
void tool_get_process_output(struct mcp_request *r);
void tool_kill_process(struct mcp_request *r);

/* Ours: operations that answer at once (tools_plain.c), execs (tools_exec.c), files (tools_files.c). */
void tool_plain(struct mcp_request *r);
void tool_clear_cache(struct mcp_request *r);
void tool_exec(struct mcp_request *r);
void tool_exec_output(struct mcp_request *r);
void tool_read_file(struct mcp_request *r);
void tool_write_files(struct mcp_request *r);
void tool_list_files(struct mcp_request *r);

#endif
