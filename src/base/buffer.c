/*
 * base/buffer.c - bytes that grow, up to a bound.
 *
 * Room: base (words). Touches: mem.
 * Theory: room doubles, so that a byte is copied twice at most on the average.
 */
#include "base/buffer.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64 };

int
buffer_reserve(char **bytes, size_t *room, size_t need)
{
        size_t more = *room < FIRST_ROOM ? FIRST_ROOM : *room;
        char *larger;

        if (need <= *room)
                return 0;
        while (more < need)
                more = more > SIZE_MAX / 2 ? need : more * 2;
        larger = realloc(*bytes, more);
        if (!larger)
                return -ENOMEM;
        *bytes = larger;
        *room = more;
        return 0;
}

int
buffer_add(struct buffer *b, const void *bytes, size_t len, size_t max)
{
        if (b->len > max || len > max - b->len || b->len + len == SIZE_MAX)
                return -E2BIG;
        if (buffer_reserve(&b->bytes, &b->room, b->len + len + 1) < 0)
                return -ENOMEM;
        if (len > 0)
                memcpy(b->bytes + b->len, bytes, len);
        b->len += len;
        b->bytes[b->len] = '\0';
        return 0;
}

void
buffer_fini(struct buffer *b)
{
        if (!b)
                return;
        free(b->bytes);
        *b = (struct buffer){ 0 };
}

char *
buffer_take(struct buffer *b)
{
        char *bytes = b->bytes;

        *b = (struct buffer){ 0 };
        return bytes;
}
