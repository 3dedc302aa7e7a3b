/*
 * cli/output_target.c - writes output without blocking on its reader.
 *
 * Room: cli (joining, program). Touches: fd.
 * Theory: other processes share the caller's descriptors, so they are never made non-blocking. A
 * pipe or a terminal is opened a second time through /proc, non-blocking. A file does not block.
 * Anything else gets one small write each time poll(2) reports room.
 */
#include "cli/output_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CAREFUL_WRITE = 4096 };

static int
open_again(int fd)
{
        char path[64];

        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

void
output_target_init(struct output_target *s, int fd, bool is_raw)
{
        struct stat st;
        int other;

        memset(s, 0, offsetof(struct output_target, shown));
        s->fd = fd;
        s->kind = SINK_CAREFUL;
        s->escapes = !is_raw && isatty(fd);
        if (fstat(fd, &st) < 0)
                return;
        if (S_ISREG(st.st_mode))
                s->kind = SINK_FILE;
        else if (S_ISSOCK(st.st_mode))
                s->kind = SINK_SOCKET;
        else if ((other = open_again(fd)) >= 0) {
                s->fd = other;
                s->owns_fd = true;
                s->kind = SINK_NONBLOCKING;
        }
}

void
output_target_fini(struct output_target *s)
{
        if (s->owns_fd)
                (void)close(s->fd);
        s->owns_fd = false;
        s->fd = -1;
}

bool
output_target_is_busy(const struct output_target *s)
{
        return !s->is_gone && (s->left > 0 || s->start < s->end);
}

void
output_target_put(struct output_target *s, const void *bytes, size_t len)
{
        s->at = bytes;
        s->left = len;
}

void
output_target_end(struct output_target *s)
{
        if (s->escapes && s->visible.held_len > 0 && !output_target_is_busy(s)) {
                s->start = 0;
                s->end = visible_write(&s->visible, NULL, 0, true, s->shown);
        }
}

struct pollfd
output_target_poll(const struct output_target *s)
{
        return (struct pollfd){ output_target_is_busy(s) ? s->fd : -1, POLLOUT, 0 };
}

/* 0: nothing can be written now; -1: the reader is gone; else bytes written. */
static ssize_t
put_some(struct output_target *s, const char *bytes, size_t len)
{
        ssize_t put = s->kind == SINK_SOCKET
                              ? send(s->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL)
                              : write(s->fd, bytes,
                                      s->kind == SINK_CAREFUL && len > CAREFUL_WRITE ? CAREFUL_WRITE
                                                                                     : len);

        if (put >= 0 || errno == EAGAIN || errno == EINTR)
                return put < 0 ? 0 : put;
        /* a closed terminal returns EIO */
        if (errno != EPIPE && errno != ECONNRESET && errno != EBADF &&
            (errno != EIO || s->kind == SINK_FILE))
                s->error = errno;
        s->is_gone = true;
        return -1;
}

static void
show_next(struct output_target *s)
{
        size_t n = s->left < SINK_CHUNK ? s->left : SINK_CHUNK;

        s->start = 0;
        s->end = visible_write(&s->visible, s->at, n, false, s->shown);
        s->at += n;
        s->left -= n;
}

int
output_target_write(struct output_target *s)
{
        ssize_t put = 1;

        while (put > 0 && output_target_is_busy(s)) {
                if (s->escapes && s->start == s->end) {
                        show_next(s);
                        continue;
                }
                if (s->escapes) {
                        put = put_some(s, s->shown + s->start, s->end - s->start);
                        s->start += put > 0 ? (size_t)put : 0;
                } else {
                        put = put_some(s, s->at, s->left);
                        s->at += put > 0 ? put : 0;
                        s->left -= put > 0 ? (size_t)put : 0;
                }
                if (s->kind == SINK_CAREFUL)
                        break;
        }
        return s->is_gone ? -1 : 0;
}
