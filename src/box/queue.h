/*
 * box/queue.h - outgoing messages of a socket that must never block the box.
 */
#ifndef CARREL_BOX_QUEUE_H
#define CARREL_BOX_QUEUE_H

#include <stddef.h>
#include <stdint.h>

enum { QUEUE_FULL = 1 << 20, QUEUE_MAX = 16 << 20 /* bytes that may wait */, QUEUE_FDS_MAX = 4 };

struct queue_item;
struct queue {
        int fd; /* a non-blocking seqpacket socket, borrowed */
        struct queue_item *first, *last;
        size_t bytes;
};

void queue_init(struct queue *q, int fd);
void queue_fini(struct queue *q);

/*
 * Sends a message, or queues it in order. Takes the descriptors, also on failure. 0 or -errno;
 * -ENOBUFS: the queue is full.
 */
int queue_send(struct queue *q, uint16_t kind, const void *body, size_t len, const int *take_fds,
               size_t fd_count);

/* The same with borrowed descriptors: if the message is queued, it holds duplicates. */
int queue_lend(struct queue *q, uint16_t kind, const void *body, size_t len, const int *fds,
               size_t fd_count);

/* True: so much is queued that work which can wait should produce nothing more. */
int queue_is_full(const struct queue *q);

/* Sends as many queued messages as the socket takes. 0 or -errno. */
int queue_flush(struct queue *q);

#endif
