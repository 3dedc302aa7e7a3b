/*
 * box/queue.c - messages on their way out.
 *
 * Room: box (program). Touches: mem, fd.
 */
#include "box/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/message.h"

struct queue_item {
        struct queue_item *next;
        size_t len, fd_count;
        uint16_t kind;
        int fds[QUEUE_FDS_MAX];
        _Alignas(8) unsigned char body[];
};

static void
close_all(const int *fds, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (fds[i] >= 0)
                        (void)close(fds[i]);
}

void
queue_init(struct queue *q, int fd)
{
        *q = (struct queue){ .fd = fd };
}

static void
drop_first(struct queue *q)
{
        struct queue_item *item = q->first;

        q->first = item->next;
        if (!q->first)
                q->last = NULL;
        q->bytes -= item->len + sizeof *item;
        close_all(item->fds, item->fd_count);
        free(item);
}

void
queue_fini(struct queue *q)
{
        while (q->first)
                drop_first(q);
}

static int
keep(struct queue *q, uint16_t kind, const void *body, size_t len, const int *fds, size_t fd_count)
{
        struct queue_item *item = q->bytes + len > QUEUE_MAX || fd_count > QUEUE_FDS_MAX
                                          ? NULL
                                          : malloc(sizeof *item + len);

        if (!item)
                return -ENOBUFS;
        *item = (struct queue_item){ .len = len, .fd_count = fd_count, .kind = kind };
        if (len > 0)
                memcpy(item->body, body, len);
        if (fd_count > 0)
                memcpy(item->fds, fds, fd_count * sizeof *fds);
        if (q->last)
                q->last->next = item;
        else
                q->first = item;
        q->last = item;
        q->bytes += len + sizeof *item;
        return 0;
}

int
queue_is_full(const struct queue *q)
{
        return q->bytes >= QUEUE_FULL;
}

/*
 * ETOOMANYREFS: this user has too many descriptors in transit, over all its processes. It is no
 * fault of this queue, and passes when other processes have received theirs.
 */
static int
is_for_later(int result)
{
        return result == -EAGAIN || result == -ENOBUFS || result == -ENOMEM ||
               result == -ETOOMANYREFS;
}

int
queue_send(struct queue *q, uint16_t kind, const void *body, size_t len, const int *take_fds,
           size_t fd_count)
{
        int result = q->first ? -EAGAIN : wire_send(q->fd, kind, body, len, take_fds, fd_count);

        if (is_for_later(result)) {
                result = keep(q, kind, body, len, take_fds, fd_count);
                if (result == 0)
                        return 0;
        }
        close_all(take_fds, fd_count);
        return result;
}

int
queue_lend(struct queue *q, uint16_t kind, const void *body, size_t len, const int *fds,
           size_t fd_count)
{
        int result = q->first ? -EAGAIN : wire_send(q->fd, kind, body, len, fds, fd_count);
        int copies[QUEUE_FDS_MAX];
        size_t count = 0;

        if (!is_for_later(result))
                return result;
        for (result = fd_count > QUEUE_FDS_MAX ? -ENOBUFS : 0; result == 0 && count < fd_count;
             count++)
                if ((copies[count] = fcntl(fds[count], F_DUPFD_CLOEXEC, 3)) < 0)
                        result = -ENOBUFS;
        if (result == 0)
                result = keep(q, kind, body, len, copies, count);
        if (result < 0)
                close_all(copies, count);
        return result;
}

int
queue_flush(struct queue *q)
{
        while (q->first) {
                int result = wire_send(q->fd, q->first->kind, q->first->body, q->first->len,
                                       q->first->fds, q->first->fd_count);

                if (is_for_later(result))
                        return 0;
                if (result < 0)
                        return result;
                drop_first(q);
        }
        return 0;
}
