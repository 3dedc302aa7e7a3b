/*
 * mcp/tokens.h - estimates how many tokens a text has for a model, and cuts a piece of a text by
 * tokens.
 *
 * The estimate is that of tokenx 1.3 (MIT; a list of rules, reimplemented here). Mastra's tools cut
 * their output by it, and Carrel's tools must give the same text. Lengths are in UTF-16 units.
 * Pure. Texts must be valid UTF-8 (mcp_bytes_utf8).
 */
#ifndef CARREL_MCP_TOKENS_H
#define CARREL_MCP_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "mcp/bytes.h"

#define TOKENS_END INT64_MAX

/* Returns the estimate for `len` bytes. */
int64_t tokens_count(const char *text, size_t len);

/*
 * Appends to `out` the part from token `start` to before token `end`; 0 <= start. A character that
 * is cut becomes U+FFFD.
 */
void tokens_slice(struct mcp_bytes *out, const char *text, size_t len, int64_t start, int64_t end);

#endif
