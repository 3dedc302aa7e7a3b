/*
 * mcp/bytes.h - a text that grows while an answer is written.
 */
#ifndef CARREL_MCP_BYTES_H
#define CARREL_MCP_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The text owns its memory (malloc). After one failed allocation it stays broken, so the caller
 * checks once, at the end.
 */
struct mcp_bytes {
        char *text; /* NUL-terminated after the first put */
        size_t len, room;
        bool is_broken;
};

void mcp_bytes_fini(struct mcp_bytes *b); /* accepts NULL; the text may be used again */
void mcp_bytes_put(struct mcp_bytes *b, const char *bytes, size_t len);
void mcp_bytes_text(struct mcp_bytes *b, const char *text);
void mcp_bytes_format(struct mcp_bytes *b, const char *fmt, ...)
        __attribute__((format(printf, 2, 3))); /* at most 511 bytes */

/* Appends `len` bytes as UTF-8. Each invalid character becomes U+FFFD. */
void mcp_bytes_utf8(struct mcp_bytes *b, const char *bytes, size_t len);

#endif
