/*
 * base/byte_queue.h - a byte queue: added at the end, removed from the front. An empty queue holds
 * no memory.
 */
#ifndef CARREL_BASE_BYTE_QUEUE_H
#define CARREL_BASE_BYTE_QUEUE_H

#include <stddef.h>

/* Zeroed: empty. The queued bytes are at + first, len. */
struct bytes {
        char *at;
        size_t first, len, room;
};

/*
 * Returns room for `len` more bytes behind the queued ones, or NULL if out of memory. The caller
 * then adds to len.
 */
char *bytes_room(struct bytes *b, size_t len);

/* Return 0, or -1 if out of memory. */
int bytes_put(struct bytes *b, const void *bytes, size_t len);
int bytes_text(struct bytes *b, const char *text);

/* Removes `len` bytes from the front. bytes_fini() removes all. */
void bytes_drop(struct bytes *b, size_t len);
void bytes_fini(struct bytes *b);

#endif
