/*
 * wire/channel.c - the frames of a channel: read piece by piece, or one at a time.
 *
 * Room: wire (words). Touches: fd.
 * Theory: only what has a shape is ever held, and it is smaller than a hundred bytes; bulk bytes
 * stay where the caller read them. The order of a stream (nothing after its end, no byte twice) is
 * judged here, so that every reader of it is as strict.
 */
#include "wire/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "wire/message.h"

enum { BYTES_BODY = -1 };

struct kind_row {
        uint32_t kind;
        enum channel_side side;
        int len, is_last;
        int shorter; /* another length that it may have; 0: none */
};

static const struct kind_row kinds[] = {
        { CHANNEL_STARTED, CHANNEL_FROM_BOX, sizeof(struct channel_started), 0, 0 },
        { CHANNEL_FAILED, CHANNEL_FROM_BOX, sizeof(struct wire_exec_failed), 1, 0 },
        { CHANNEL_STDOUT, CHANNEL_FROM_BOX, BYTES_BODY, 0, 0 },
        { CHANNEL_STDERR, CHANNEL_FROM_BOX, BYTES_BODY, 0, 0 },
        { CHANNEL_END, CHANNEL_FROM_BOX, sizeof(struct channel_end), 1,
          sizeof(struct channel_end_listed) },
        { CHANNEL_STDIN, CHANNEL_TO_BOX, BYTES_BODY, 0, 0 },
        { CHANNEL_STDIN_END, CHANNEL_TO_BOX, 0, 0, 0 },
        { CHANNEL_SIGNAL, CHANNEL_TO_BOX, sizeof(struct wire_number), 0, 0 },
        { CHANNEL_RESIZE, CHANNEL_TO_BOX, sizeof(struct wire_size), 0, 0 },
        { CHANNEL_DETACH, CHANNEL_TO_BOX, 0, 0, 0 },
};

static const struct kind_row *
find_kind(uint32_t kind)
{
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
                if (kinds[i].kind == kind)
                        return &kinds[i];
        return NULL;
}

/* -- reading ----------------------------------------------------------------------------------- */

void
channel_reader_init(struct channel_reader *r, enum channel_side side)
{
        memset(r, 0, sizeof *r);
        r->side = side;
}

static struct channel_frame
head_of(const struct channel_reader *r)
{
        struct channel_frame f;

        memcpy(&f, r->head, sizeof f);
        return f;
}

/* A frame may leave bytes out (they were dropped), but none comes twice. */
static int
check_offset(struct channel_reader *r, const struct channel_frame *f)
{
        uint64_t *next;

        if (f->kind != CHANNEL_STDOUT && f->kind != CHANNEL_STDERR)
                return f->offset == 0 ? 0 : -EPROTO;
        next = &r->next[f->kind == CHANNEL_STDERR];
        if (f->offset < *next || f->offset > UINT64_MAX - f->len)
                return -EPROTO;
        *next = f->offset + f->len;
        return 0;
}

static int
has_length(const struct kind_row *row, size_t len)
{
        return row->len == BYTES_BODY || len == (size_t)row->len ||
               (row->shorter > 0 && len == (size_t)row->shorter);
}

static int
check_head(struct channel_reader *r)
{
        struct channel_frame f = head_of(r);
        const struct kind_row *row = find_kind(f.kind);

        if (!row || row->side != r->side || r->is_over || f.len > CHANNEL_FRAME_MAX ||
            !has_length(row, f.len))
                return -EPROTO;
        return check_offset(r, &f);
}

static size_t
take(unsigned char *to, size_t got, size_t wanted, const unsigned char **bytes, size_t *len)
{
        size_t n = wanted - got < *len ? wanted - got : *len;

        memcpy(to + got, *bytes, n);
        *bytes += n;
        *len -= n;
        return n;
}

static void
end_frame(struct channel_reader *r, const struct kind_row *row)
{
        r->head_got = r->body_got = 0;
        r->is_over = row->is_last;
}

/* The head is whole: gives what there is of the body. */
static int
next_piece(struct channel_reader *r, const unsigned char **bytes, size_t *len,
           struct channel_piece *ret)
{
        struct channel_frame f = head_of(r);
        const struct kind_row *row = find_kind(f.kind);

        if (!row) /* judged when its head came */
                return -EPROTO;
        *ret = (struct channel_piece){ .kind = f.kind, .offset = f.offset + r->body_got };
        if (row->len == BYTES_BODY) {
                ret->len = f.len - r->body_got < *len ? f.len - r->body_got : *len;
                ret->bytes = *bytes;
                *bytes += ret->len;
                *len -= ret->len;
                r->body_got += ret->len;
        } else {
                r->body_got += take(r->fixed, r->body_got, f.len, bytes, len);
                memset(r->fixed + f.len, 0, (size_t)row->len - f.len);
                ret->bytes = r->fixed;
                ret->len = (size_t)row->len;
                ret->offset = 0;
        }
        if (r->body_got == f.len)
                end_frame(r, row);
        else if (row->len != BYTES_BODY || ret->len == 0)
                return 0;
        return 1;
}

int
channel_reader_next(struct channel_reader *r, const unsigned char **bytes, size_t *len,
                    struct channel_piece *ret)
{
        if (r->is_broken)
                return -EPROTO;
        if (r->head_got < sizeof r->head) {
                r->head_got += take(r->head, r->head_got, sizeof r->head, bytes, len);
                if (r->head_got < sizeof r->head)
                        return 0;
                if (check_head(r) < 0) {
                        r->is_broken = 1;
                        return -EPROTO;
                }
        }
        return next_piece(r, bytes, len, ret);
}

int
channel_reader_is_between(const struct channel_reader *r)
{
        return r->head_got == 0 && !r->is_broken;
}

/* -- writing ----------------------------------------------------------------------------------- */

struct channel_frame
channel_head(uint32_t kind, size_t len, uint64_t offset)
{
        return (struct channel_frame){ kind, (uint32_t)len, offset };
}

static int
send_all(int socket, struct iovec *parts, size_t count)
{
        while (count > 0) {
                struct msghdr msg = { .msg_iov = parts,
                                      .msg_iovlen = (__typeof__(msg.msg_iovlen))count };
                ssize_t sent = sendmsg(socket, &msg, MSG_NOSIGNAL);

                if (sent < 0 && errno == EINTR)
                        continue;
                if (sent < 0)
                        return -errno;
                for (; count > 0 && (size_t)sent >= parts->iov_len; parts++, count--)
                        sent -= (ssize_t)parts->iov_len;
                if (count > 0) {
                        parts->iov_base = (unsigned char *)parts->iov_base + sent;
                        parts->iov_len -= (size_t)sent;
                }
        }
        return 0;
}

int
channel_send(int socket, uint32_t kind, const void *bytes, size_t len, uint64_t offset)
{
        const struct kind_row *row = find_kind(kind);
        size_t at = 0;

        if (!row || !has_length(row, len))
                return -EINVAL;
        do {
                size_t n = len - at < CHANNEL_FRAME_MAX ? len - at : CHANNEL_FRAME_MAX;
                struct channel_frame head = channel_head(
                        kind, n,
                        offset > 0 || kind == CHANNEL_STDOUT || kind == CHANNEL_STDERR ? offset + at
                                                                                       : 0);
                struct iovec parts[2] = { { &head, sizeof head },
                                          { n > 0 ? (unsigned char *)(uintptr_t)bytes + at : NULL,
                                            n } };
                int result = send_all(socket, parts, n > 0 ? 2 : 1);

                if (result < 0)
                        return result;
                at += n;
        } while (at < len);
        return 0;
}

/* -- reading and waiting ----------------------------------------------------------------------- */

/* 1: all of it; 0: closed before the first byte; -errno. */
static int
receive_all(int socket, void *to, size_t len)
{
        size_t got = 0;

        while (got < len) {
                ssize_t n = recv(socket, (unsigned char *)to + got, len - got, 0);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno != ECONNRESET)
                        return -errno;
                if (n <= 0)
                        return got == 0 ? 0 : -EPIPE;
                got += (size_t)n;
        }
        return 1;
}

int
channel_receive(int socket, struct channel_reader *r, struct channel_frame *ret, void *body,
                size_t room)
{
        int got;

        if (r->is_broken)
                return -EPROTO;
        got = receive_all(socket, r->head, sizeof r->head);
        if (got <= 0)
                return got;
        if (check_head(r) < 0) {
                r->is_broken = 1;
                return -EPROTO;
        }
        *ret = head_of(r);
        if (ret->len > room) {
                r->is_broken = 1;
                return -EMSGSIZE;
        }
        got = receive_all(socket, body, ret->len);
        end_frame(r, find_kind(ret->kind));
        return got == 1 ? 1 : got == 0 ? -EPIPE : got;
}
