/*
 * mcp/tools.h - the tools that models see: one row each, always listed in this order.
 */
#ifndef CARREL_MCP_TOOLS_H
#define CARREL_MCP_TOOLS_H

#include <stdbool.h>

#include "api/operation.h"
#include "text/json.h"

struct mcp_request;

enum tool_flag {
        /* one of Mastra's three tools: identical texts, a name with and without prefix */
        TOOL_MASTRA = 1u << 0,
        TOOL_CONFIGURED = 1u << 1, /* listed only if a sandbox is configured */
        /* acts on one sandbox: takes sandbox_id, unless a sandbox is configured */
        TOOL_SANDBOX = 1u << 2,
        /* for the owner: listed only if the model manages sandboxes */
        TOOL_MANAGE = 1u << 6,
        /*
         * shows the owner's data: not listed if a context selects the sandbox, unless the model
         * manages sandboxes
         */
        TOOL_OWNED = 1u << 7,
        /* hints for the client */
        TOOL_READ_ONLY = 1u << 3,
        TOOL_DESTRUCTIVE = 1u << 4,
        TOOL_IDEMPOTENT = 1u << 5,
};

struct tool {
        const char *name; /* without prefix */
        const char *title, *help;
        unsigned flags;         /* enum tool_flag */
        enum operation_code op; /* its table gives the schemas; 0: `input` does */
        /* parameters of the operation that the tool does not take, ended by 0; or NULL */
        const uint16_t *leave_out;
        const char *input; /* JSON Schema as text, or NULL */
        void (*run)(struct mcp_request *r);
};

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
