/*
 * wire/message.c - typed messages between Carrel's own processes.
 *
 * Room: wire (words). Touches: fd.
 */
#include "wire/message.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SEND_TRIES = 5000 }; /* a little over a millisecond each */

union control {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * WIRE_FDS_MAX)];
};

static void
attach(struct msghdr *msg, union control *control, const int *fds, size_t fd_count)
{
        struct cmsghdr *c;

        msg->msg_control = control->bytes;
        msg->msg_controllen = (__typeof__(msg->msg_controllen))CMSG_SPACE(
                sizeof(int) * fd_count); /* its type differs by C library */
        c = CMSG_FIRSTHDR(msg);
        if (!c) /* there is room for one, and only an analyzer doubts it */
                return;
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = (__typeof__(c->cmsg_len))CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * fd_count);
}

int
wire_send(int socket, uint16_t kind, const void *body, size_t len, const int *fds, size_t fd_count)
{
        struct wire_head head = { WIRE_MAGIC, WIRE_VERSION, kind };
        struct iovec parts[2] = { { &head, sizeof head }, { (void *)(uintptr_t)body, len } };
        struct msghdr msg = { .msg_iov = parts, .msg_iovlen = len > 0 ? 2 : 1 };
        union control control;
        ssize_t sent;

        if (len > WIRE_BODY_MAX || fd_count > WIRE_FDS_MAX)
                return -E2BIG;
        if (fd_count > 0) {
                memset(&control, 0, CMSG_SPACE(sizeof(int) * fd_count));
                attach(&msg, &control, fds, fd_count);
        }
        do
                sent = sendmsg(socket, &msg, MSG_NOSIGNAL);
        while (sent < 0 && errno == EINTR);
        return sent < 0 ? -errno : 0;
}

int
wire_is_for_later(int result)
{
        if (result == -ETOOMANYREFS)
                (void)poll(NULL, 0, 1);
        return result == -EAGAIN || result == -ETOOMANYREFS;
}

int
wire_has_room(int socket)
{
        struct pollfd one = { .fd = socket, .events = POLLOUT };

        return poll(&one, 1, 0) == 1 && (one.revents & POLLOUT) != 0;
}

int
wire_send_in_time(int socket, uint16_t kind, const void *body, size_t len, const int *fds,
                  size_t fd_count)
{
        int result = wire_send(socket, kind, body, len, fds, fd_count);

        for (int i = 0; i < SEND_TRIES && result < 0 && wire_is_for_later(result); i++)
                result = wire_send(socket, kind, body, len, fds, fd_count);
        return result;
}

static void
take_fds(struct msghdr *msg, struct wire_message *m)
{
        struct cmsghdr *c =
                CMSG_FIRSTHDR(msg); /* we ask for nothing else, so there is at most one */
        size_t count;

        if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                return;
        count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        m->fd_count = count < WIRE_FDS_MAX ? count : WIRE_FDS_MAX;
        memcpy(m->fds, CMSG_DATA(c), m->fd_count * sizeof(int));
}

int
wire_receive(int socket, int wait, struct wire_message *ret, void *body, size_t room)
{
        struct wire_head head;
        struct iovec parts[2] = { { &head, sizeof head }, { body, room } };
        union control control;
        struct msghdr msg = { .msg_iov = parts,
                              .msg_iovlen = 2,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
        ssize_t got;
        int resets = 0;

        ret->fd_count = 0;
        /* A peer that closes with unread messages resets the connection; this is reported once,
         * before its last messages. */
        do
                got = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
        while (got < 0 && (errno == EINTR || (errno == ECONNRESET && resets++ == 0)));
        if (got < 0)
                return errno == ECONNRESET ? 0 : -errno;
        take_fds(&msg, ret);
        if (got == 0) { /* an empty datagram looks the same, and may carry descriptors */
                wire_message_close(ret);
                return 0;
        }
        if ((size_t)got < sizeof head || (msg.msg_flags & MSG_TRUNC) != 0 ||
            head.magic != WIRE_MAGIC || head.version != WIRE_VERSION || head.kind == 0 ||
            head.kind >= WIRE_KIND_MAX) {
                wire_message_close(ret);
                return -EPROTO;
        }
        ret->kind = head.kind;
        ret->len = (size_t)got - sizeof head;
        if ((msg.msg_flags & MSG_CTRUNC) == 0)
                return 1;
        wire_message_close(ret); /* some without the others are of no use */
        return -EMFILE;
}

void
wire_message_close(struct wire_message *m)
{
        for (size_t i = 0; i < m->fd_count; i++)
                if (m->fds[i] >= 0)
                        (void)close(m->fds[i]);
        m->fd_count = 0;
}
