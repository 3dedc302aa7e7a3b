/*
 * door/ingress_side.h - one side of the port proxy: the client's, or the server's inside.
 */
#ifndef CARREL_DOOR_INGRESS_SIDE_H
#define CARREL_DOOR_INGRESS_SIDE_H

#include "door/bytes.h"
#include "loop/loop.h"

enum { SIDE_HIGH = 256 * 1024 /* bytes that may wait before no more is read for them */ };

struct side {
        struct loop_watch watch;
        int fd;                        /* -1: none */
        struct bytes in, out;
        size_t scanned;
        int is_eof, is_shut;
};

/* Accepts one that is closed. */
void side_close(struct side *s);

/* Sends what can be sent. -1: this side is gone. */
int side_flush(struct side *s);

/* Reads what is there. -1: this side is gone. 1: something came. */
int side_read(struct side *s);

/* Waits for what is wanted: bytes if they `may_read`, room if there is something to send, the end. What is not to be read is not asked about, its end included. */
void side_watch(struct loop *l, struct side *s, int may_read, int wants_end, void (*ready)(struct loop_watch *w, uint32_t events));

/* A piece of a body, as a chunk or as it is. Not 0: no memory. */
int side_put_piece(struct bytes *out, int in_chunks, const char *bytes, size_t len);

/* Copies a head out of `in`. NULL: no memory. */
char *side_take_head(struct bytes *in, size_t len);

#endif
