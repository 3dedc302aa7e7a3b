/*
 * keeper/peer.h - one end of a seqpacket socket. Sending never blocks: a message that does not fit
 * is queued.
 *
 * Q1: a link that serves more than one caller never ends because its queue is full. Its producer
 * stops or merges messages instead:
 *
 *     answers of calls     the keeper reads no calls while the queue is full (keeper/connection.c),
 *                          so there are at most as many as calls that wait
 *     lists                sent in parts, the next when the queue is empty (keeper/parts.c)
 *     events               stored once per owner, within bounds; a watcher that falls behind them
 *                          is ended alone (keeper/watch.c)
 *     lists for the gate   a newer list replaces one that waits (keeper/wall.c)
 *     orders to a box      while the queue is full, a call's order is refused with an error of its
 *                          own (keeper/box.c)
 *     orders to others     one for each sandbox that starts (spawner), one for each command that
 *                          waits for secrets (fetcher): both are bounded
 *
 * Only the link of a single caller (peer_set_private()) is broken at PEER_QUEUE_BYTES or
 * PEER_QUEUE_COUNT: that caller does not read.
 */
#ifndef CARREL_KEEPER_PEER_H
#define CARREL_KEEPER_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "wire/message.h"
#include "wire/queue.h"

enum {
        PEER_QUEUE_BYTES = 4 << 20,
        PEER_QUEUE_COUNT = 4096,
        PEER_FULL_BYTES = 1 << 20,
        PEER_FULL_COUNT = 1024,
        PEER_BURST = 64
};

struct peer {
        struct loop_watch watch; /* first */
        int fd;                  /* owned; -1: none */
        struct wire_queue queue;
        bool is_broken;                  /* other end gone, or it does not read: close it */
        bool is_deaf, wants_turn;        /* peer_hear(), peer_want() */
        void (*drained)(struct peer *p); /* queue is empty and the socket has room; or NULL */
        void (*ready)(struct peer *p, uint32_t events); /* readable, or other end closed */
};

/* Takes `take_fd` and makes it non-blocking. 0 or -errno; takes the descriptor in both cases. */
int peer_open(struct peer *p, struct loop *loop, int take_fd,
              void (*ready)(struct peer *p, uint32_t events));
void peer_close(struct peer *p);

/* From now on the link is broken when its queue is full (Q1): it serves a single caller. */
void peer_set_private(struct peer *p);

/*
 * Sends or queues a message. Takes the descriptors: they are closed once sent. -1: the peer is
 * broken, and no message will arrive any more.
 */
int peer_send(struct peer *p, uint16_t kind, const void *body, size_t len, const int *take_fds,
              size_t fd_count);

/* Is so much queued that producers of messages that can wait should stop? */
bool peer_is_full(const struct peer *p);

/* Is nothing queued, so that a message is probably sent at once? */
bool peer_is_idle(const struct peer *p);

/* Starts or stops reporting that the socket is readable. */
void peer_hear(struct peer *p, bool hears);

/* Calls `drained` once, from the loop, as soon as nothing is queued, even if that is so now. */
void peer_want(struct peer *p);

#endif
