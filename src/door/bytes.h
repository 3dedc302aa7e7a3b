/*
 * door/bytes.h - bytes that wait: put at the end, taken from the front. Memory is given back when it is empty.
 */
#ifndef CARREL_DOOR_BYTES_H
#define CARREL_DOOR_BYTES_H

#include <stddef.h>

struct bytes { char *at; size_t first, len, room; };       /* zeroed: empty. What waits is at + first, len */

/* Room for `len` more bytes behind what waits, or NULL without memory. The caller adds to len. */
char *bytes_room(struct bytes *b, size_t len);

/* 0, or -1 without memory. */
int bytes_put(struct bytes *b, const void *bytes, size_t len);
int bytes_text(struct bytes *b, const char *text);

/* Drops so many from the front. bytes_fini() drops all. */
void bytes_drop(struct bytes *b, size_t len);
void bytes_fini(struct bytes *b);

#endif
