/*
 * keeper/peer.c - sends without blocking.
 *
 * Room: keeper (joining). Touches: fd, mem.
 * Theory: order is kept, so once one message is queued, all later ones are queued behind it.
 * Producers limit what is queued (peer.h, Q1). Only the link of a single caller is closed when its
 * queue is full: that caller does not read.
 */
#include "keeper/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

static void
flush(struct peer *p)
{
        if (!p->is_broken && wire_queue_flush(&p->queue) < 0)
                p->is_broken = true;
}

static void
watch_for(struct peer *p)
{
        (void)loop_watch_change(
                &p->watch, (p->is_deaf ? 0u : (uint32_t)EPOLLIN) |
                                   (p->queue.first || p->wants_turn ? (uint32_t)EPOLLOUT : 0u));
}

/* `drained` may queue new messages; it is called again when they are sent. */
static void
give_turn(struct peer *p)
{
        if (p->queue.first || p->is_broken)
                return;
        p->wants_turn = false;
        if (p->drained)
                p->drained(p);
}

static void
on_events(struct loop_watch *w, uint32_t events)
{
        struct peer *p = (struct peer *)w;

        if ((events & EPOLLOUT) != 0) {
                flush(p);
                give_turn(p);
                if (p->fd >= 0)
                        watch_for(p);
        }
        if (p->is_broken || (events & ~(uint32_t)EPOLLOUT) != 0)
                p->ready(p, events);
}

int
peer_open(struct peer *p, struct loop *loop, int take_fd,
          void (*ready)(struct peer *p, uint32_t events))
{
        int flags = fcntl(take_fd, F_GETFL), result;

        *p = (struct peer){ .fd = take_fd, .ready = ready };
        wire_queue_init(&p->queue, take_fd, 0, 0);
        if (flags < 0 || fcntl(take_fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
            fcntl(take_fd, F_SETFD, FD_CLOEXEC) < 0)
                result = -errno;
        else
                result = loop_watch_add(loop, &p->watch, take_fd, EPOLLIN, on_events);
        if (result < 0)
                peer_close(p);
        return result;
}

void
peer_close(struct peer *p)
{
        loop_watch_remove(&p->watch);
        wire_queue_fini(&p->queue);
        if (p->fd >= 0)
                (void)close(p->fd);
        p->fd = p->queue.fd = -1;
        p->is_broken = true;
}

void
peer_set_private(struct peer *p)
{
        p->queue.bytes_max = PEER_QUEUE_BYTES;
        p->queue.count_max = PEER_QUEUE_COUNT;
}

bool
peer_is_full(const struct peer *p)
{
        return p->queue.bytes >= PEER_FULL_BYTES || p->queue.count >= PEER_FULL_COUNT;
}

bool
peer_is_idle(const struct peer *p)
{
        return !p->queue.first && !p->is_broken;
}

void
peer_hear(struct peer *p, bool hears)
{
        if (p->is_deaf == !hears || p->fd < 0)
                return;
        p->is_deaf = !hears;
        watch_for(p);
}

void
peer_want(struct peer *p)
{
        if (p->wants_turn || p->fd < 0)
                return;
        p->wants_turn = true;
        watch_for(p);
}

int
peer_send(struct peer *p, uint16_t kind, const void *body, size_t len, const int *take_fds,
          size_t fd_count)
{
        bool had_none = !p->queue.first;
        int result;

        if (p->is_broken) {
                for (size_t i = 0; i < fd_count; i++)
                        if (take_fds[i] >= 0)
                                (void)close(take_fds[i]);
                return -1;
        }
        result = wire_queue_send(&p->queue, kind, body, len, take_fds, fd_count);
        if (result < 0)
                p->is_broken = true;
        if (had_none && p->queue.first)
                watch_for(p);
        return result < 0 ? -1 : 0;
}
