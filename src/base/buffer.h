/*
 * base/buffer.h - bytes that grow, up to a bound.
 */
#ifndef CARREL_BASE_BUFFER_H
#define CARREL_BASE_BUFFER_H

#include <stddef.h>

/* Zeroed: empty. It owns its memory (malloc), aligned for any type. */
struct buffer {
        char *bytes; /* NULL while nothing was added; else a NUL follows the last byte */
        size_t len, room;
};

/*
 * Adds `len` bytes (0: any pointer). At most `max` bytes in all, without the NUL. Returns 0;
 * -E2BIG: there would be more than `max`; -ENOMEM. After an error nothing has changed.
 */
int buffer_add(struct buffer *b, const void *bytes, size_t len, size_t max);

/*
 * For other structs that grow: makes *bytes (NULL, or of malloc() with *room bytes) at least `need`
 * bytes long. The room doubles. Returns 0, or -ENOMEM and nothing has changed.
 */
int buffer_reserve(char **bytes, size_t *room, size_t need);

/* Frees the bytes; the buffer is empty again. Accepts NULL. */
void buffer_fini(struct buffer *b);

/* Gives the bytes, which the caller frees, and is empty again. NULL if nothing was added. */
char *buffer_take(struct buffer *b);

#endif
