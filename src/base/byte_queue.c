/*
 * base/byte_queue.c - a byte queue.
 *
 * Room: base (words). Touches: mem.
 */
#include "base/byte_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

char *
bytes_room(struct bytes *b, size_t len)
{
        if (b->first > 0 && b->first + b->len + len > b->room) {
                memmove(b->at, b->at + b->first, b->len);
                b->first = 0;
        }
        if (buffer_reserve(&b->at, &b->room, b->len + len) < 0)
                return NULL;
        return b->at + b->first + b->len;
}

int
bytes_put(struct bytes *b, const void *bytes, size_t len)
{
        char *room = len > 0 ? bytes_room(b, len) : NULL;

        if (len > 0 && !room)
                return -1;
        if (len > 0)
                memcpy(room, bytes, len);
        b->len += len;
        return 0;
}

int
bytes_text(struct bytes *b, const char *text)
{
        return bytes_put(b, text, strlen(text));
}

void
bytes_drop(struct bytes *b, size_t len)
{
        b->first += len;
        b->len -= len;
        if (b->len == 0)
                bytes_fini(b);
}

void
bytes_fini(struct bytes *b)
{
        free(b->at);
        *b = (struct bytes){ 0 };
}
