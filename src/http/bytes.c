/*
 * http/bytes.c - a byte queue.
 *
 * Room: http (joining). Touches: mem.
 */
#include "http/bytes.h"

#include <stdlib.h>
#include <string.h>

char *
bytes_room(struct bytes *b, size_t len)
{
        if (b->first > 0 && b->first + b->len + len > b->room) {
                memmove(b->at, b->at + b->first, b->len);
                b->first = 0;
        }
        if (b->len + len > b->room) {
                size_t room = b->len + len + 1024;
                char *at = realloc(b->at, room);

                if (!at)
                        return NULL;
                b->at = at;
                b->room = room;
        }
        return b->at + b->first + b->len;
}

int
bytes_put(struct bytes *b, const void *bytes, size_t len)
{
        char *room = bytes_room(b, len);

        if (!room)
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
