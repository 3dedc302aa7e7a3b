/*
 * mcp/tokens.h - how many tokens a model will about see in a text, and a piece of the text measured in them.
 *
 * The estimate of tokenx 1.3 (MIT; a list of rules, written here anew), because Mastra's tools cut their output by it and
 * ours give the same text. Its lengths are those of UTF-16. Pure. Texts are valid UTF-8 (mcp_bytes_utf8).
 */
#ifndef CARREL_MCP_TOKENS_H
#define CARREL_MCP_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "mcp/bytes.h"

#define TOKENS_END INT64_MAX

/* The estimate for `len` bytes. */
int64_t tokens_count(const char *text, size_t len);

/* Puts the part from token `start` to before token `end` to `out`; 0 <= start. A character cut in half becomes U+FFFD. */
void tokens_slice(struct mcp_bytes *out, const char *text, size_t len, int64_t start, int64_t end);

#endif
