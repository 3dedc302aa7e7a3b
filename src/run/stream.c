/*
 * run/stream.c - moves bytes from one descriptor to another.
 *
 * Room: run (joining). Touches: fd, mem.
 * Theory: other processes share the caller's descriptors, so they are never made non-blocking. Data
 * goes to a pipe with splice(2) and its own non-blocking flag, and to a socket with MSG_DONTWAIT. A
 * file does not block. Anything else gets one small write each time poll(2) reports room.
 */
#include "run/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CAREFUL_WRITE = 4096, SPLICE_LEN = 1 << 20 };

static enum stream_sink
sink_of(int to)
{
        struct stat st;

        if (fstat(to, &st) < 0)
                return STREAM_CAREFUL;
        return S_ISFIFO(st.st_mode)   ? STREAM_PIPE
               : S_ISREG(st.st_mode)  ? STREAM_FILE
               : S_ISSOCK(st.st_mode) ? STREAM_SOCKET
                                      : STREAM_CAREFUL;
}

int
stream_set_nonblocking(int fd)
{
        int flags = fcntl(fd, F_GETFL);

        return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

void
stream_init(struct stream *s, int from, int to)
{
        *s = (struct stream){ .from = from, .to = to, .sink = sink_of(to) };
}

void
stream_init_capture(struct stream *s, int from, size_t max)
{
        *s = (struct stream){ .from = from, .to = -1, .sink = STREAM_CAPTURE, .captured_max = max };
}

static void
close_from(struct stream *s)
{
        if (s->owns_from && s->from >= 0)
                (void)close(s->from);
        s->from = -1;
}

static void
close_to(struct stream *s)
{
        if (s->owns_to && s->to >= 0)
                (void)close(s->to);
        s->to = -1;
}

static bool
is_splicing(const struct stream *s)
{
        return s->sink == STREAM_PIPE && !s->escapes && s->sanitize.kinds == 0 &&
               s->start == s->end && !s->owns_to && (!s->budget || *s->budget > 0) && !s->seen;
}

bool
stream_is_over(const struct stream *s)
{
        return s->from < 0 && s->start == s->end;
}

size_t
stream_poll(const struct stream *s, struct pollfd *fds)
{
        bool has_bytes = s->start < s->end;

        fds[0] = (struct pollfd){ has_bytes ? -1 : s->from, POLLIN, 0 };
        fds[1] = (struct pollfd){ has_bytes ? s->to : -1, POLLOUT, 0 };
        return 2;
}

/* How many of `len` bytes the budget permits; the rest is counted as dropped. */
static size_t
permitted(struct stream *s, size_t len)
{
        size_t pass = len;

        if (s->budget && *s->budget < len)
                pass = (size_t)*s->budget;
        if (s->budget)
                *s->budget -= pass;
        s->dropped += len - pass;
        return pass;
}

static void
capture(struct stream *s, const char *bytes, size_t len)
{
        size_t room = s->captured_max - s->captured_len;
        size_t kept = len < room ? len : room;
        char *grown = kept > 0 ? realloc(s->captured, s->captured_len + kept) : s->captured;

        if (kept > 0 && !grown)
                kept = 0;
        else
                s->captured = grown;
        if (kept > 0)
                memcpy(s->captured + s->captured_len, bytes, kept);
        s->captured_len += kept;
        s->dropped += len - kept;
}

/*
 * Static buffers for a command's three streams: most commands print little, and an allocation of
 * this size would be mapped and unmapped each time.
 */
static char first[STREAM_BUFFER], second[STREAM_BUFFER], third[STREAM_BUFFER];
static struct ready {
        char *bytes;
        bool is_taken;
} ready[] = { { first, false }, { second, false }, { third, false } };

static char *
take_buffer(void)
{
        for (size_t i = 0; i < sizeof ready / sizeof *ready; i++)
                if (!ready[i].is_taken) {
                        ready[i].is_taken = true;
                        return ready[i].bytes;
                }
        return malloc(STREAM_BUFFER);
}

static void
give_buffer(char *buffer)
{
        for (size_t i = 0; i < sizeof ready / sizeof *ready; i++)
                if (buffer == ready[i].bytes) {
                        ready[i].is_taken = false;
                        return;
                }
        free(buffer);
}

enum { RAW_LEN = STREAM_BUFFER / VISIBLE_MAX - VISIBLE_HELD_MAX };

static size_t
clean_len(const struct stream *s)
{
        return s->clean.len - s->clean_at;
}

/* Bytes for the reader go to the empty buffer, with control bytes as text if it shows them. */
static void
hand_on(struct stream *s, const char *bytes, size_t len, bool is_last)
{
        s->start = 0;
        s->end = len;
        if (s->escapes)
                s->end = visible_write(&s->visible, bytes, len, is_last, s->buffer);
        else if (len > 0 && bytes != s->buffer)
                memcpy(s->buffer, bytes, len);
}

static void
hand_on_clean(struct stream *s)
{
        size_t len = clean_len(s) < RAW_LEN ? clean_len(s) : RAW_LEN;

        hand_on(s, s->clean.bytes + s->clean_at, len, false);
        s->clean_at += len;
        if (clean_len(s) == 0)
                s->clean.len = s->clean_at = 0;
}

/*
 * Fills the empty buffer with what was kept back: sanitised bytes, then those that were held for
 * the next read of a source that has ended. What is captured leaves the buffer at once.
 */
static void
refill(struct stream *s)
{
        for (;;) {
                if (s->sink == STREAM_CAPTURE) {
                        capture(s, s->buffer, s->end);
                        s->start = s->end = 0;
                }
                if (s->start < s->end)
                        return;
                if (clean_len(s) > 0)
                        hand_on_clean(s);
                else if (s->from < 0 && s->visible.held_len > 0)
                        hand_on(s, NULL, 0, true);
                else
                        return;
        }
}

static void
sanitize(struct stream *s, const char *raw, size_t len, bool is_last)
{
        if (sanitize_write(&s->sanitize, raw, len, is_last, &s->clean) < 0)
                s->dropped += len;
}

static void
fill(struct stream *s)
{
        /* not cleared before each read */
        static char raw[RAW_LEN];
        bool is_clean = s->sanitize.kinds != 0, is_copied = s->escapes || is_clean;
        size_t len;
        ssize_t got;

        if (!s->buffer && !(s->buffer = take_buffer())) {
                close_from(s);
                return;
        }
        got = is_copied ? read(s->from, raw, sizeof raw) : read(s->from, s->buffer, STREAM_BUFFER);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (got <= 0) { /* a terminal's master returns EIO when its last user is gone */
                close_from(s);
                if (is_clean)
                        sanitize(s, NULL, 0, true);
                refill(s);
                return;
        }
        if (s->seen)
                s->seen(s->which, is_copied ? raw : s->buffer, (size_t)got);
        s->bytes += (uint64_t)got;
        len = permitted(s, (size_t)got);
        if (s->shown_on)
                terminal_show(s->shown_on, s->buffer, len);
        if (is_clean)
                sanitize(s, raw, len, false);
        else
                hand_on(s, is_copied ? raw : s->buffer, len, false);
        refill(s);
}

static int
reader_is_gone(struct stream *s)
{
        /* a closed terminal returns EIO */
        if (errno != EPIPE && errno != ECONNRESET && errno != EBADF &&
            (errno != EIO || s->sink == STREAM_FILE))
                s->error = errno;
        close_from(s);
        close_to(s);
        s->start = s->end = 0;
        buffer_fini(&s->clean);
        s->clean_at = 0;
        return -1;
}

static int
drain(struct stream *s)
{
        size_t len = s->end - s->start;
        ssize_t put;

        if (s->sink == STREAM_SOCKET)
                put = send(s->to, s->buffer + s->start, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        else
                put = write(s->to, s->buffer + s->start,
                            s->sink == STREAM_FILE || len < CAREFUL_WRITE ? len : CAREFUL_WRITE);
        if (put < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : reader_is_gone(s);
        s->start += (size_t)put;
        refill(s);
        return 0;
}

static int
move_inside(struct stream *s)
{
        size_t len = s->budget && *s->budget < SPLICE_LEN ? (size_t)*s->budget : SPLICE_LEN;
        ssize_t moved = splice(s->from, NULL, s->to, NULL, len, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

        if (moved > 0 && s->shown_on)
                terminal_show(s->shown_on, NULL, 0);
        if (moved > 0) {
                s->bytes += (uint64_t)moved;
                (void)permitted(s, (size_t)moved);
                return 0;
        }
        if (moved == 0)
                close_from(s);
        else if (errno == EAGAIN) /* the other pipe is full: wait for it with data in the buffer */
                fill(s);
        else if (errno == EPIPE)
                return reader_is_gone(s);
        else if (errno != EINTR)
                s->sink = STREAM_CAREFUL;
        return 0;
}

int
stream_move(struct stream *s, const struct pollfd *fds, size_t count)
{
        int result = 0;

        if (count != 2)
                return 0;
        if (fds[1].fd >= 0 && (fds[1].revents & (POLLOUT | POLLERR | POLLHUP)) != 0)
                return drain(s);
        if (fds[0].fd >= 0 && (fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
                if (is_splicing(s))
                        return move_inside(s);
                fill(s);
                if (s->start < s->end && s->sink == STREAM_FILE)
                        result = drain(s);
        }
        return result;
}

void
stream_abandon(struct stream *s)
{
        int waiting = 0;

        if (s->from >= 0 && ioctl(s->from, FIONREAD, &waiting) == 0 && waiting > 0)
                s->bytes += (uint64_t)waiting;
        s->dropped += (uint64_t)waiting + (s->end - s->start) + clean_len(s);
        s->start = s->end = 0;
        s->clean.len = s->clean_at = 0;
        close_from(s);
}

void
stream_fini(struct stream *s)
{
        close_from(s);
        close_to(s);
        give_buffer(s->buffer);
        buffer_fini(&s->clean);
        sanitize_fini(&s->sanitize);
        free(s->captured);
        s->buffer = s->captured = NULL;
}
