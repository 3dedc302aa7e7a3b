/*
 * ingress/side.c - one side of the port proxy: a non-blocking socket, and its queues of bytes
 * to read and to send.
 *
 * Room: ingress (joining). Touches: fd, mem.
 */
#include "ingress/side.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHUNK = 64 * 1024 };

void
side_close(struct side *s)
{
        if (s->fd < 0)
                return;
        loop_watch_remove(&s->watch);
        (void)close(s->fd);
        bytes_fini(&s->in);
        bytes_fini(&s->out);
        *s = (struct side){ .fd = -1, .watch.fd = -1 };
}

int
side_flush(struct side *s)
{
        while (s->fd >= 0 && s->out.len > 0) {
                ssize_t sent = send(s->fd, s->out.at + s->out.first, s->out.len,
                                    MSG_NOSIGNAL | MSG_DONTWAIT);

                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent < 0)
                        return errno == EAGAIN ? 0 : -1;
                bytes_drop(&s->out, (size_t)sent);
        }
        return 0;
}

int
side_read(struct side *s)
{
        char *room = bytes_room(&s->in, CHUNK);
        ssize_t got;

        if (!room)
                return -1;
        got = recv(s->fd, room, CHUNK, MSG_DONTWAIT);
        if (got > 0)
                s->in.len += (size_t)got;
        else if (got == 0)
                s->is_eof = 1;
        if (s->in.len == 0)
                bytes_fini(&s->in);
        return got < 0 && errno != EAGAIN && errno != EINTR ? -1 : got > 0;
}

/*
 * Input that is not to be read is not polled, and neither is its end: it would be reported in every
 * turn.
 */
void
side_watch(struct loop *l, struct side *s, int may_read, int wants_end,
           void (*ready)(struct loop_watch *w, uint32_t events))
{
        uint32_t events = s->out.len > 0 ? EPOLLOUT : 0;

        if (s->fd < 0)
                return;
        if (!s->is_eof && may_read && s->in.len < SIDE_HIGH)
                events |= EPOLLIN | EPOLLRDHUP;
        else if (!s->is_eof && wants_end)
                events |= EPOLLRDHUP;
        if (s->watch.fd < 0 && events != 0 &&
            loop_watch_add(l, &s->watch, s->fd, events, ready) < 0)
                s->is_eof = 1;
        else
                (void)loop_watch_change(&s->watch, events);
}

int
side_put_piece(struct bytes *out, int in_chunks, const char *bytes, size_t len)
{
        char size[24];

        if (!in_chunks)
                return bytes_put(out, bytes, len);
        (void)snprintf(size, sizeof size, "%zx\r\n", len);
        return bytes_text(out, size) | bytes_put(out, bytes, len) | bytes_text(out, "\r\n");
}

char *
side_take_head(struct bytes *in, size_t len)
{
        char *copy = malloc(len + 1);

        if (!copy)
                return NULL;
        memcpy(copy, in->at + in->first, len);
        copy[len] = '\0';
        bytes_drop(in, len);
        return copy;
}
