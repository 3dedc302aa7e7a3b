/*
 * link/follow.c - follows the channel of one exec without blocking.
 *
 * Room: link (acting). Touches: fd, mem.
 * Theory: all followers read into one buffer, because each passes its bytes on before the callback
 * returns. A follower stores no output; a caller that cannot take more pauses it.
 */
#include "link/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { QUIET_TURNS = 4, READ_MAX = 192 * 1024 };

static unsigned char buffer[FOLLOW_BURST];

static void
watch_for(struct follow *f)
{
        if (f->is_open)
                (void)loop_watch_change(&f->watch,
                                        (f->is_paused ? 0u : (uint32_t)EPOLLIN) |
                                                (f->out.len > 0 ? (uint32_t)EPOLLOUT : 0u));
}

void
follow_close(struct follow *f)
{
        if (!f->is_open)
                return;
        f->is_open = 0;
        loop_watch_remove(&f->watch);
        (void)close(f->fd);
        bytes_fini(&f->out);
}

/* -- from the box ------------------------------------------------------------------------------ */

static void
lose(struct follow *f)
{
        follow_close(f);
        f->ops->lost(f);
}

static void
take(struct follow *f, size_t got)
{
        const unsigned char *bytes = buffer;
        struct channel_piece piece;
        int result = 1;

        while (f->is_open && result > 0) {
                result = channel_reader_next(&f->reader, &bytes, &got, &piece);
                if (result > 0)
                        f->ops->piece(f, &piece);
        }
        if (f->is_open && result < 0)
                lose(f);
}

/* -- to the box -------------------------------------------------------------------------------- */

static void
flush(struct follow *f)
{
        while (f->out.len > 0) {
                ssize_t sent = send(f->fd, f->out.at + f->out.first, f->out.len,
                                    MSG_NOSIGNAL | MSG_DONTWAIT);

                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent < 0 && errno == EAGAIN)
                        break;
                /* the read side reports that the channel has closed */
                bytes_drop(&f->out, sent < 0 ? f->out.len : (size_t)sent);
        }
        watch_for(f);
        if (f->out.len == 0)
                f->ops->writable(f);
}

/* Without memory the frame is cut off, so the box must get nothing after it. */
static void
append(struct follow *f, const void *bytes, size_t len)
{
        if (bytes_put(&f->out, bytes, len) == 0)
                return;
        (void)shutdown(f->fd, SHUT_RDWR);
        bytes_fini(&f->out);
}

static void
send_frame(struct follow *f, uint32_t kind, const unsigned char *bytes, size_t len)
{
        struct channel_frame head = channel_head(kind, len, 0);
        struct iovec parts[2] = { { &head, sizeof head }, { (void *)(uintptr_t)bytes, len } };
        struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };
        size_t sent = 0;

        if (f->out.len == 0) {
                ssize_t got = sendmsg(f->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);

                if (got < 0 && errno != EAGAIN && errno != EINTR)
                        return; /* the frames that are left to read say how the exec ended */
                sent = got > 0 ? (size_t)got : 0;
        }
        if (sent < sizeof head)
                append(f, (unsigned char *)&head + sent, sizeof head - sent);
        sent = sent > sizeof head ? sent - sizeof head : 0;
        if (sent < len)
                append(f, bytes + sent, len - sent);
}

void
follow_send(struct follow *f, uint32_t kind, const void *bytes, size_t len)
{
        const unsigned char *at = bytes;

        if (!f->is_open)
                return;
        do {
                size_t here = len < CHANNEL_FRAME_MAX ? len : CHANNEL_FRAME_MAX;

                send_frame(f, kind, at, here);
                at = here > 0 ? at + here : at;
                len -= here;
        } while (len > 0);
        watch_for(f);
}

size_t
follow_pending(const struct follow *f)
{
        return f->out.len;
}

/* -- following --------------------------------------------------------------------------------- */

static void
ready(struct loop_watch *w, uint32_t events)
{
        struct follow *f = (struct follow *)(void *)w;
        ssize_t got;

        if ((events & EPOLLOUT) != 0 && f->out.len > 0) {
                flush(f);
                if (!f->is_open)
                        return;
        }
        if (f->is_paused) {
                if ((events & (EPOLLHUP | EPOLLERR)) != 0)
                        /* it would be reported in every turn; resume watches again */
                        loop_watch_remove(&f->watch);
                return;
        }
        for (int turns = f->ops->quiet ? QUIET_TURNS : 1; turns > 0 && f->is_open && !f->is_paused;
             turns--) {
                size_t room = f->ops->room(f);

                got = recv(f->fd, buffer, room < READ_MAX ? room : READ_MAX, MSG_DONTWAIT);
                if (got > 0) {
                        take(f, (size_t)got);
                } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
                        lose(f);
                } else {
                        if (f->ops->quiet)
                                f->ops->quiet(f);
                        return;
                }
        }
        /*
         * Further bytes are read in the next turn. If nothing is left, no event would come, so
         * `quiet` is called now.
         */
        if (f->is_open && !f->is_paused && f->ops->quiet &&
            recv(f->fd, buffer, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN)
                f->ops->quiet(f);
}

int
follow_open(struct follow *f, struct loop *l, int take_fd, const struct follow_ops *ops,
            void *state)
{
        int flags = fcntl(take_fd, F_GETFL), room = FOLLOW_BURST;

        memset(f, 0, sizeof *f);
        f->loop = l;
        f->fd = take_fd;
        f->ops = ops;
        f->state = state;
        channel_reader_init(&f->reader, CHANNEL_FROM_BOX);
        (void)setsockopt(take_fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        if (flags < 0 || fcntl(take_fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
            loop_watch_add(l, &f->watch, take_fd, EPOLLIN, ready) < 0) {
                (void)close(take_fd);
                return -1;
        }
        f->is_open = 1;
        return 0;
}

void
follow_leave(struct follow *f)
{
        follow_send(f, CHANNEL_DETACH, NULL, 0);
        follow_close(f);
}

void
follow_pause(struct follow *f)
{
        f->is_paused = 1;
        watch_for(f);
}

void
follow_resume(struct follow *f)
{
        if (!f->is_open || !f->is_paused)
                return;
        f->is_paused = 0;
        if (f->watch.fd < 0 && loop_watch_add(f->loop, &f->watch, f->fd, EPOLLIN, ready) < 0)
                lose(f);
        else
                watch_for(f);
}
