/*
 * wire/queue.h - outgoing messages of a socket that must never block.
 *
 * Order is kept: once a message waits, later ones wait behind it. The owner watches for room in the
 * socket while `first` is set, and then calls wire_queue_flush().
 */
#ifndef CARREL_WIRE_QUEUE_H
#define CARREL_WIRE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_waiting;

struct wire_queue {
        int fd; /* a non-blocking seqpacket socket, borrowed; -1: none, nothing is sent */
        struct wire_waiting *first, *last;
        size_t bytes, count;         /* that wait; `bytes` with what each message costs */
        size_t bytes_max, count_max; /* at most so much waits; 0: no bound */
};

void wire_queue_init(struct wire_queue *q, int fd, size_t bytes_max, size_t count_max);

/* Drops what waits: its bytes are overwritten (they may be secrets), its descriptors closed. */
void wire_queue_fini(struct wire_queue *q);

/*
 * Sends a message, or keeps a copy to be sent later. Takes the descriptors, also on failure. 0, or
 * -errno: -ENOBUFS: a bound is reached, or there is no memory; -EPIPE: the other end is gone.
 */
int wire_queue_send(struct wire_queue *q, uint16_t kind, const void *body, size_t len,
                    const int *take_fds, size_t fd_count);

/* The same with borrowed descriptors: a message that waits holds duplicates. */
int wire_queue_lend(struct wire_queue *q, uint16_t kind, const void *body, size_t len,
                    const int *fds, size_t fd_count);

/*
 * Sends as many as the socket takes. 0, or -errno of the first that cannot be sent, which is then
 * dropped.
 */
int wire_queue_flush(struct wire_queue *q);

#endif
