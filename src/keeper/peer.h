/*
 * keeper/peer.h - one end of a seqpacket socket that never makes its owner wait: what does not fit now is queued, within bounds.
 */
#ifndef CARREL_KEEPER_PEER_H
#define CARREL_KEEPER_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "wire/message.h"

enum { PEER_QUEUE_BYTES = 4 << 20, PEER_QUEUE_COUNT = 4096, PEER_BURST = 64 };

struct peer_message;

struct peer {
        struct loop_watch watch;       /* first */
        int fd;                        /* owned; -1: none */
        struct peer_message *first, **last;
        size_t bytes, count;           /* queued */
        bool is_broken;                /* the other side is gone, or does not read: its owner lets go of it */
        void (*ready)(struct peer *p, uint32_t events);        /* something to read, or the end */
};

/* Takes `take_fd` (made non-blocking). 0 or -errno; the descriptor is taken either way. */
int peer_open(struct peer *p, struct loop *loop, int take_fd, void (*ready)(struct peer *p, uint32_t events));
void peer_close(struct peer *p);

/* Sends or queues; the descriptors are taken (closed once sent). -1 when the peer is broken: nothing more will arrive. */
int peer_send(struct peer *p, uint16_t kind, const void *body, size_t len, const int *take_fds, size_t fd_count);

#endif
