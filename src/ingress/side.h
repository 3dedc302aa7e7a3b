/*
 * ingress/side.h - one side of the port proxy: the client, or the server inside the sandbox.
 */
#ifndef CARREL_INGRESS_SIDE_H
#define CARREL_INGRESS_SIDE_H

#include "base/byte_queue.h"
#include "loop/loop.h"

enum { SIDE_HIGH = 256 * 1024 /* queued bytes above which reading pauses */ };

struct side {
        struct loop_watch watch;
        int fd; /* -1: none */
        struct bytes in, out;
        size_t scanned;
        int is_eof, is_shut;
};

/* Accepts a closed side. */
void side_close(struct side *s);

/* Sends as much as possible. Returns -1 if this side has closed. */
int side_flush(struct side *s);

/* Reads what has arrived. Returns -1 if this side has closed, 1 if bytes arrived. */
int side_read(struct side *s);

/*
 * Waits for input if `may_read`, for room if bytes wait to be sent, and for the end if `wants_end`.
 * While input is not to be read, it is not polled, and neither is its end.
 */
void side_watch(struct loop *l, struct side *s, int may_read, int wants_end,
                void (*ready)(struct loop_watch *w, uint32_t events));

/* Queues a piece of a body, as a chunk or unchanged. Not 0: out of memory. */
int side_put_piece(struct bytes *out, int in_chunks, const char *bytes, size_t len);

/* Copies a head out of `in`. NULL if out of memory. */
char *side_take_head(struct bytes *in, size_t len);

#endif
