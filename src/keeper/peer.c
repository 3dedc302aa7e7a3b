/*
 * keeper/peer.c - sending without waiting.
 *
 * Room: keeper (joining). Touches: fd, mem.
 * Theory: order is kept, so once one message waits all wait behind it. Who does not read is let go of at a bound; nobody else notices.
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
        int *fds;                      /* behind the body */
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
        explicit_bzero(m->body, m->len);               /* the environment of a command may hold secrets */
        free(m);
}

/*
 * ETOOMANYREFS: of all descriptors that this user has on their way, in every process of his, too many were not received yet. It is nobody's fault here
 * and passes as soon as others get their turn.
 */
static bool
is_for_later(int result)
{
        return result == -EAGAIN || result == -ENOBUFS || result == -ENOMEM || result == -ETOOMANYREFS;
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
        (void)loop_watch_change(&p->watch, EPOLLIN);
}

static void
on_events(struct loop_watch *w, uint32_t events)
{
        struct peer *p = (struct peer *)w;

        if ((events & EPOLLOUT) != 0)
                flush(p);
        if (p->is_broken || (events & ~(uint32_t)EPOLLOUT) != 0)
                p->ready(p, events);
}

int
peer_open(struct peer *p, struct loop *loop, int take_fd, void (*ready)(struct peer *p, uint32_t events))
{
        int flags = fcntl(take_fd, F_GETFL), result;

        *p = (struct peer){ .fd = take_fd, .ready = ready };
        p->last = &p->first;
        if (flags < 0 || fcntl(take_fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(take_fd, F_SETFD, FD_CLOEXEC) < 0)
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
enqueue(struct peer *p, uint16_t kind, const void *body, size_t len, const int *fds, size_t fd_count)
{
        size_t at = (sizeof(struct peer_message) + len + sizeof(int) - 1) / sizeof(int) * sizeof(int);
        struct peer_message *m = p->bytes + len <= PEER_QUEUE_BYTES && p->count < PEER_QUEUE_COUNT ? malloc(at + fd_count * sizeof(int)) : NULL;

        if (!m) {
                p->is_broken = true;
                close_fds(fds, fd_count);
                return -1;
        }
        *m = (struct peer_message){ .kind = kind, .len = len, .fd_count = fd_count, .fds = (int *)(void *)((char *)m + at) };
        if (len > 0)
                memcpy(m->body, body, len);
        if (fd_count > 0)
                memcpy(m->fds, fds, fd_count * sizeof(int));
        *p->last = m;
        p->last = &m->next;
        p->bytes += len;
        p->count++;
        (void)loop_watch_change(&p->watch, EPOLLIN | EPOLLOUT);
        return 0;
}

int
peer_send(struct peer *p, uint16_t kind, const void *body, size_t len, const int *take_fds, size_t fd_count)
{
        int result = p->is_broken || p->fd < 0 ? -EPIPE : p->first ? -EAGAIN : wire_send(p->fd, kind, body, len, take_fds, fd_count);

        if (is_for_later(result))
                return enqueue(p, kind, body, len, take_fds, fd_count);
        close_fds(take_fds, fd_count);
        if (result < 0)
                p->is_broken = true;
        return result < 0 ? -1 : 0;
}
