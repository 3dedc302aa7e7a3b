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
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct peer_message {
        struct peer_message *next;
        uint16_t kind;
        size_t len, fd_count;
        int *fds; /* stored behind the body */
        unsigned char body[];
};

static void
close_fds(const int *fds, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (fds[i] >= 0)
                        (void)close(fds[i]);
}

static void
drop_first(struct peer *p)
{
        struct peer_message *m = p->first;

        p->first = m->next;
        if (!p->first)
                p->last = &p->first;
        p->bytes -= m->len;
        p->count--;
        close_fds(m->fds, m->fd_count);
        explicit_bzero(m->body, m->len); /* the environment of a command may hold secrets */
        free(m);
}

/*
 * ETOOMANYREFS: this user has too many descriptors in transit, counted over all its processes. It
 * is no error of this link, and passes when other processes receive theirs.
 */
static bool
is_for_later(int result)
{
        return result == -EAGAIN || result == -ENOBUFS || result == -ENOMEM ||
               result == -ETOOMANYREFS;
}

static void
flush(struct peer *p)
{
        while (p->first && !p->is_broken) {
                struct peer_message *m = p->first;
                int result = wire_send(p->fd, m->kind, m->body, m->len, m->fds, m->fd_count);

                if (is_for_later(result))
                        return;
                if (result < 0)
                        p->is_broken = true;
                drop_first(p);
        }
}

static void
watch_for(struct peer *p)
{
        (void)loop_watch_change(&p->watch,
                                (p->is_deaf ? 0u : (uint32_t)EPOLLIN) |
                                        (p->first || p->wants_turn ? (uint32_t)EPOLLOUT : 0u));
}

/* `drained` may queue new messages; it is called again when they are sent. */
static void
give_turn(struct peer *p)
{
        if (p->first || p->is_broken)
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
        p->last = &p->first;
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
        while (p->first)
                drop_first(p);
        if (p->fd >= 0)
                (void)close(p->fd);
        p->fd = -1;
        p->is_broken = true;
}

static int
enqueue(struct peer *p, uint16_t kind, const void *body, size_t len, const int *fds,
        size_t fd_count)
{
        size_t at =
                (sizeof(struct peer_message) + len + sizeof(int) - 1) / sizeof(int) * sizeof(int);
        bool has_room = !p->is_private ||
                        (p->bytes + len <= PEER_QUEUE_BYTES && p->count < PEER_QUEUE_COUNT);
        struct peer_message *m = has_room ? malloc(at + fd_count * sizeof(int)) : NULL;

        if (!m) {
                p->is_broken = true;
                close_fds(fds, fd_count);
                return -1;
        }
        *m = (struct peer_message){ .kind = kind,
                                    .len = len,
                                    .fd_count = fd_count,
                                    .fds = (int *)(void *)((char *)m + at) };
        if (len > 0)
                memcpy(m->body, body, len);
        if (fd_count > 0)
                memcpy(m->fds, fds, fd_count * sizeof(int));
        *p->last = m;
        p->last = &m->next;
        p->bytes += len;
        p->count++;
        watch_for(p);
        return 0;
}

bool
peer_is_full(const struct peer *p)
{
        return p->bytes >= PEER_FULL_BYTES || p->count >= PEER_FULL_COUNT;
}

bool
peer_is_idle(const struct peer *p)
{
        return !p->first && !p->is_broken;
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
        int result = p->is_broken || p->fd < 0 ? -EPIPE
                     : p->first                ? -EAGAIN
                                : wire_send(p->fd, kind, body, len, take_fds, fd_count);

        if (is_for_later(result))
                return enqueue(p, kind, body, len, take_fds, fd_count);
        close_fds(take_fds, fd_count);
        if (result < 0)
                p->is_broken = true;
        return result < 0 ? -1 : 0;
}
