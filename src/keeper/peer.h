/*
 * keeper/peer.h - one end of a seqpacket socket that never makes its owner wait: what does not fit now is queued.
 *
 * Q1: a link that serves more than one caller never ends because its queue is full. Whoever produces for it stops, or folds:
 *
 *     answers of calls     calls are not read while the queue is full (keeper/connection.c), so there are at most as many as calls that wait
 *     lists                a part at a time, the next when the queue is empty (keeper/parts.c)
 *     events               kept once an owner, within bounds; who falls behind these is ended, alone (keeper/watch.c)
 *     lists for the gate   one that waits is replaced by a later one (keeper/wall.c)
 *     orders to a box      a call's order is refused, with an error of its own, while the queue is full (keeper/box.c)
 *     orders to others     one a sandbox that starts (spawner), one a command that waits for secrets (fetcher): both have a bound
 *
 * Only the link of one caller (`is_private`) is broken at PEER_QUEUE_BYTES or PEER_QUEUE_COUNT: that caller does not read.
 */
#ifndef CARREL_KEEPER_PEER_H
#define CARREL_KEEPER_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "wire/message.h"

enum { PEER_QUEUE_BYTES = 4 << 20, PEER_QUEUE_COUNT = 4096, PEER_FULL_BYTES = 1 << 20, PEER_FULL_COUNT = 1024, PEER_BURST = 64 };

struct peer_message;

struct peer {
        struct loop_watch watch;       /* first */
        int fd;                        /* owned; -1: none */
        struct peer_message *first, **last;
        size_t bytes, count;           /* queued */
        bool is_broken;                /* the other side is gone, or does not read: its owner lets go of it */
        bool is_private;               /* the link of one caller: broken at a bound */
        bool is_deaf, wants_turn;      /* peer_hear(), peer_want() */
        void (*drained)(struct peer *p);       /* the socket takes more, and nothing is queued; or NULL */
        void (*ready)(struct peer *p, uint32_t events);        /* something to read, or the end */
};

/* Takes `take_fd` (made non-blocking). 0 or -errno; the descriptor is taken either way. */
int peer_open(struct peer *p, struct loop *loop, int take_fd, void (*ready)(struct peer *p, uint32_t events));
void peer_close(struct peer *p);

/* Sends or queues; the descriptors are taken (closed once sent). -1 when the peer is broken: nothing more will arrive. */
int peer_send(struct peer *p, uint16_t kind, const void *body, size_t len, const int *take_fds, size_t fd_count);

/* Is enough queued, so that nothing should be produced that can wait? */
bool peer_is_full(const struct peer *p);

/* Does a message go at once, as far as is known? */
bool peer_is_idle(const struct peer *p);

/* Stops, or goes on, telling of what there is to read. */
void peer_hear(struct peer *p, bool hears);

/* `drained` is called once as soon as nothing is queued, from the loop, also where that is so now. */
void peer_want(struct peer *p);

#endif
