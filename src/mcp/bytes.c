/*
 * mcp/bytes.c - a text that grows.
 *
 * Room: mcp (joining). Touches: mem.
 */
#include "mcp/bytes.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "text/utf8.h"

enum { FIRST_ROOM = 256 };

void
mcp_bytes_fini(struct mcp_bytes *b)
{
        if (!b)
                return;
        free(b->text);
        *b = (struct mcp_bytes){ 0 };
}

void
mcp_bytes_put(struct mcp_bytes *b, const char *bytes, size_t len)
{
        if (b->is_broken || len >= SIZE_MAX / 4 - b->len ||
            buffer_reserve(&b->text, &b->room, b->len + len + (b->room ? 1 : FIRST_ROOM)) < 0) {
                b->is_broken = true;
                return;
        }
        if (len > 0)
                memcpy(b->text + b->len, bytes, len);
        b->len += len;
        b->text[b->len] = '\0';
}

void
mcp_bytes_text(struct mcp_bytes *b, const char *text)
{
        mcp_bytes_put(b, text, strlen(text));
}

void
mcp_bytes_format(struct mcp_bytes *b, const char *fmt, ...)
{
        char text[512];
        va_list ap;

        va_start(ap, fmt);
        (void)vsnprintf(text, sizeof text, fmt, ap);
        va_end(ap);
        mcp_bytes_text(b, text);
}

void
mcp_bytes_utf8(struct mcp_bytes *b, const char *bytes, size_t len)
{
        while (len > 0) {
                size_t valid = utf8_valid_len(bytes, len);
                uint32_t point;

                mcp_bytes_put(b, bytes, valid);
                bytes += valid;
                len -= valid;
                if (len == 0)
                        return;
                valid = utf8_next(bytes, len, &point);
                mcp_bytes_text(b, "\xef\xbf\xbd");
                bytes += valid;
                len -= valid;
        }
}
