/*
 * box/queue.h - messages on their way out over a socket that must never make the box wait.
 */
#ifndef CARREL_BOX_QUEUE_H
#define CARREL_BOX_QUEUE_H

#include <stddef.h>
#include <stdint.h>

enum { QUEUE_FULL = 1 << 20, QUEUE_MAX = 16 << 20 /* bytes that may wait */, QUEUE_FDS_MAX = 4 };

struct queue_item;
struct queue {
        int fd;                        /* a non-blocking seqpacket socket, borrowed */
        struct queue_item *first, *last;
        size_t bytes;
};

void queue_init(struct queue *q, int fd);
void queue_fini(struct queue *q);

/* Sends, or keeps for later in order. Takes the descriptors, whatever it answers. 0, or -errno: -ENOBUFS when too much waits. */
int queue_send(struct queue *q, uint16_t kind, const void *body, size_t len, const int *take_fds, size_t fd_count);

/* The same with descriptors that stay the caller's: where they have to wait, copies of them do. */
int queue_lend(struct queue *q, uint16_t kind, const void *body, size_t len, const int *fds, size_t fd_count);

/* Does so much wait that nothing should be produced for it that can wait? */
int queue_is_full(const struct queue *q);

/* Sends what waits, as far as it goes. 0 or -errno. */
int queue_flush(struct queue *q);

#endif
