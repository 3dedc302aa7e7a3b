/*
 * wire/queue.c - messages on their way out.
 *
 * Room: wire (words). Touches: mem, fd.
 */
#include "wire/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire/message.h"

struct wire_waiting {
        struct wire_waiting *next;
        size_t len, fd_count;
        int *fds; /* stored behind the body */
        uint16_t kind;
        _Alignas(8) unsigned char body[];
};

static void
close_all(const int *fds, size_t count)
{
        for (size_t i = 0; i < count; i++)
                if (fds[i] >= 0)
                        (void)close(fds[i]);
}

/*
 * ETOOMANYREFS: this user has too many descriptors in transit, over all its processes. It is no
 * fault of this queue, and passes when other processes have received theirs.
 */
static bool
is_for_later(int result)
{
        return result == -EAGAIN || result == -ENOBUFS || result == -ENOMEM ||
               result == -ETOOMANYREFS;
}

void
wire_queue_init(struct wire_queue *q, int fd, size_t bytes_max, size_t count_max)
{
        *q = (struct wire_queue){ .fd = fd, .bytes_max = bytes_max, .count_max = count_max };
}

static void
drop_first(struct wire_queue *q)
{
        struct wire_waiting *m = q->first;

        q->first = m->next;
        if (!q->first)
                q->last = NULL;
        q->bytes -= m->len + sizeof *m;
        q->count--;
        close_all(m->fds, m->fd_count);
        explicit_bzero(m->body, m->len); /* the environment of a command may hold secrets */
        free(m);
}

void
wire_queue_fini(struct wire_queue *q)
{
        while (q->first)
                drop_first(q);
}

static bool
has_room(const struct wire_queue *q, size_t len)
{
        return (q->bytes_max == 0 || q->bytes + len <= q->bytes_max) &&
               (q->count_max == 0 || q->count < q->count_max);
}

/* Copies a message to the end; its descriptors are not touched on failure. */
static int
keep(struct wire_queue *q, uint16_t kind, const void *body, size_t len, const int *fds,
     size_t fd_count)
{
        size_t at =
                (sizeof(struct wire_waiting) + len + sizeof(int) - 1) / sizeof(int) * sizeof(int);
        struct wire_waiting *m = has_room(q, len) ? malloc(at + fd_count * sizeof(int)) : NULL;

        if (!m)
                return -ENOBUFS;
        *m = (struct wire_waiting){ .len = len,
                                    .fd_count = fd_count,
                                    .fds = (int *)(void *)((char *)m + at),
                                    .kind = kind };
        if (len > 0)
                memcpy(m->body, body, len);
        if (fd_count > 0)
                memcpy(m->fds, fds, fd_count * sizeof *fds);
        if (q->last)
                q->last->next = m;
        else
                q->first = m;
        q->last = m;
        q->bytes += len + sizeof *m;
        q->count++;
        return 0;
}

static int
try(const struct wire_queue *q, uint16_t kind, const void *body, size_t len, const int *fds,
    size_t fd_count)
{
        if (q->fd < 0)
                return -EPIPE;
        return q->first ? -EAGAIN : wire_send(q->fd, kind, body, len, fds, fd_count);
}

int
wire_queue_send(struct wire_queue *q, uint16_t kind, const void *body, size_t len,
                const int *take_fds, size_t fd_count)
{
        int result = try(q, kind, body, len, take_fds, fd_count);

        if (is_for_later(result)) {
                result = keep(q, kind, body, len, take_fds, fd_count);
                if (result == 0)
                        return 0;
        }
        close_all(take_fds, fd_count);
        return result;
}

int
wire_queue_lend(struct wire_queue *q, uint16_t kind, const void *body, size_t len, const int *fds,
                size_t fd_count)
{
        int result = try(q, kind, body, len, fds, fd_count);
        int copies[WIRE_FDS_MAX];
        size_t count = 0;

        if (!is_for_later(result))
                return result;
        for (result = fd_count > WIRE_FDS_MAX ? -ENOBUFS : 0; result == 0 && count < fd_count;
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
wire_queue_flush(struct wire_queue *q)
{
        while (q->first) {
                const struct wire_waiting *m = q->first;
                int result = wire_send(q->fd, m->kind, m->body, m->len, m->fds, m->fd_count);

                if (is_for_later(result))
                        return 0;
                drop_first(q);
                if (result < 0)
                        return result;
        }
        return 0;
}
