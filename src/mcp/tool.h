/*
 * mcp/tool.h - one tool that models see: a row of the table in tools.c.
 */
#ifndef CARREL_MCP_TOOL_H
#define CARREL_MCP_TOOL_H

#include <stdint.h>

#include "api/operation.h"

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

#endif
