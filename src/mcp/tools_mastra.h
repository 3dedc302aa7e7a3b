/*
 * mcp/tools_mastra.h - reads the arguments of Mastra's three tools, and writes their answers.
 */
#ifndef CARREL_MCP_TOOLS_MASTRA_H
#define CARREL_MCP_TOOLS_MASTRA_H

#include "mcp/server.h"

/* -- arguments: ERROR_INVALID_ARGUMENT in Mastra's words --------------------------------------- */

enum mastra_flag { MASTRA_MAY_BE_NULL = 1u << 0 };

int mastra_wrong(struct error *e, const char *name, const char *expected);

/*
 * `tail` is in lines (default: TOOLS_TAIL). `timeout` is converted from seconds to milliseconds; 0:
 * none. *ret is NULL if a text is missing.
 */
int mastra_read_tail(const struct mcp_request *r, unsigned flags, int64_t *ret, struct error *e);
int mastra_read_timeout(const struct mcp_request *r, int64_t *ret, struct error *e);
int mastra_read_flag(const struct mcp_request *r, const char *name, bool *ret, struct error *e);
int mastra_read_text(const struct mcp_request *r, const char *name, unsigned flags,
                     const char **ret, struct error *e);

/* -- answers ----------------------------------------------------------------------------------- */

/* The output that was kept so far. */
struct tools_output mastra_output(const struct mcp_request *r);

/* The exit status of a command that has ended. */
int mastra_exit_code(const struct channel_end *end);

/* Ends the request with this text. Takes the text. */
void mastra_answer(struct mcp_request *r, struct mcp_bytes *take_text, bool is_error);

#endif
