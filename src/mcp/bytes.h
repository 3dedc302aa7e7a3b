/*
 * mcp/bytes.h - a text that grows while an answer is put together.
 */
#ifndef CARREL_MCP_BYTES_H
#define CARREL_MCP_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/* Memory is the text's own, taken with malloc. One that could not grow is broken for good: look once, at the end. */
struct mcp_bytes {
        char *text;            /* NUL-terminated once anything was put */
        size_t len, room;
        bool is_broken;
};

void mcp_bytes_fini(struct mcp_bytes *b);              /* accepts NULL; the text may be used again */
void mcp_bytes_put(struct mcp_bytes *b, const char *bytes, size_t len);
void mcp_bytes_text(struct mcp_bytes *b, const char *text);
void mcp_bytes_format(struct mcp_bytes *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));   /* at most 511 bytes */

/* Puts `len` bytes as UTF-8: what is none becomes U+FFFD, one for each broken character. */
void mcp_bytes_utf8(struct mcp_bytes *b, const char *bytes, size_t len);

#endif
