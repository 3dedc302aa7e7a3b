/*
 * box/output.c - what a command prints, from its pipe (or terminal) into its log.
 *
 * Room: box (program). Touches: fd.
 * Theory: a pipe is read whenever it has data, so a command never waits for a reader; the log drops
 * bytes that no longer fit. Only for a reader that asked to lose nothing, reading pauses while it
 * is a whole log behind. After the command's end the pipe is still read, and the bytes are
 * discarded. So processes that the command left running do not block on it.
 * The witness sees the bytes as they are read. Those that stay in the pipe at the end, for a reader
 * that must lose nothing, it sees in a copy (tee(2)): the end, with the digest, does not wait.
 */
#include "box/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "box/holder.h"

enum {
        PIPE_LEN = 1 << 20,
        PIPE_FIRST = 64 * 1024,
        TERMINAL_MOST = 256 * 1024,
        NOTHING_ROOM = 16 * 1024,
        FEW = 256,
        PAUSE_MS = 10
};

uint64_t
output_bytes(const struct output *o)
{
        return o->log.end + o->left + o->beyond;
}

void
output_init(struct output *o, struct loop *loop, int stream, uint64_t *budget,
            const struct output_user *user)
{
        *o = (struct output){ .loop = loop,
                              .stream = stream,
                              .fd = -1,
                              .budget = budget,
                              .user = user,
                              .pause = { .due_ms = LOOP_NEVER } };
}

/*
 * Enlarges a pipe that is repeatedly full, because its command prints much. May fail: the kernel
 * limits this per user.
 */
static void
widen(struct output *o, size_t got)
{
        if (got >= PIPE_FIRST && o->is_full_twice < 2 && ++o->is_full_twice == 2)
                (void)fcntl(o->fd, F_SETPIPE_SZ, PIPE_LEN);
}

static void
see(struct output *o, const void *bytes, size_t len)
{
        if (o->witness)
                witness_add(o->witness, bytes, len);
}

/* Copies bytes to the log. */
static void
keep(struct output *o, const char *bytes, size_t len)
{
        struct iovec pieces[2];

        for (size_t at = 0; at < len;) {
                size_t n = log_space(&o->log, len - at, pieces) > 0 ? pieces[0].iov_len : 0;

                if (n == 0) {
                        o->beyond += (uint64_t)len - at;
                        break;
                }
                memcpy(pieces[0].iov_base, bytes + at, n);
                log_commit(&o->log, n);
                at += n;
        }
}

/* -- output that is sanitised ------------------------------------------------------------------ */

int
output_sanitize(struct output *o, unsigned kinds)
{
        if (kinds == 0)
                return 0;
        o->sanitize = malloc(sizeof *o->sanitize);
        if (!o->sanitize)
                return -ENOMEM;
        sanitize_init(o->sanitize, kinds);
        return 0;
}

_Static_assert((int)CHANNEL_SANITIZE_KINDS == (int)SANITIZE_BITS, "a count for each kind");

void
output_count_removed(const struct output *o, struct channel_sanitized *ret)
{
        if (!o->sanitize)
                return;
        ret->kinds = o->sanitize->kinds;
        for (size_t i = 0; i < SANITIZE_BITS; i++)
                ret->counts[i] += sanitize_count(o->sanitize, i);
}

void
output_forget(struct output *o)
{
        if (o->sanitize)
                sanitize_fini(o->sanitize);
        free(o->sanitize);
        o->sanitize = NULL;
}

/* What is left of the bytes goes to the log. */
static void
keep_sanitized(struct output *o, const char *bytes, size_t len, unsigned is_last)
{
        struct buffer clean = { 0 };

        if (sanitize_write(o->sanitize, bytes, len, is_last, &clean) < 0)
                o->beyond += len;
        keep(o, clean.bytes, clean.len);
        buffer_fini(&clean);
}

/* No more bytes come: what was held is decided. May be called twice. */
static void
flush(struct output *o)
{
        if (!o->sanitize)
                return;
        if (sanitize_held(o->sanitize) > 0)
                keep_sanitized(o, NULL, 0, 1);
        sanitize_fini(o->sanitize);
}

static ssize_t
read_sanitized(struct output *o, size_t most)
{
        /* static, so that it is not cleared on each call */
        static char raw[OUTPUT_CHUNK];
        ssize_t got = read(o->fd, raw, most < sizeof raw ? most : sizeof raw);

        if (got < 0)
                return -errno;
        see(o, raw, (size_t)got);
        keep_sanitized(o, raw, (size_t)got, 0);
        widen(o, (size_t)got);
        return got;
}

/* -- the end of a stream ----------------------------------------------------------------------- */

void
output_close(struct output *o)
{
        if (o->fd < 0)
                return;
        loop_timer_remove(&o->pause);
        if (o->is_terminal)
                /* standard input has the terminal open too */
                loop_watch_remove(&o->watch);
        else
                loop_watch_forget(&o->watch);
        (void)close(o->fd);
        o->fd = -1;
        o->left = 0;
        flush(o);
        o->user->closed(o);
}

/* How many bytes may be read without dropping one that a lossless reader still needs. */
static size_t
allowed(const struct output *o)
{
        size_t room, held;

        if (!o->sanitize)
                return o->user->room(o, OUTPUT_CHUNK);
        room = o->user->room(o, OUTPUT_CHUNK * (size_t)SANITIZE_GROWS) / SANITIZE_GROWS;
        held = sanitize_held(o->sanitize);
        return room > held ? room - held : 0;
}

/*
 * A log grows, and drops bytes, for the requested room. So the box requests as much as will arrive,
 * and no more. 0: not known.
 */
static size_t
expected(const struct output *o, size_t most)
{
        int waiting = 0;

        if (o->log.room - (size_t)(o->log.end - o->log.first) >= most)
                return most;
        if (ioctl(o->fd, FIONREAD, &waiting) < 0 || waiting <= 0)
                return 0;
        return (size_t)waiting < most ? (size_t)waiting : most;
}

static ssize_t
read_into_nothing(struct output *o, size_t most)
{
        unsigned char nothing[NOTHING_ROOM];
        ssize_t got = read(o->fd, nothing, most < sizeof nothing ? most : sizeof nothing);

        if (got < 0)
                return -errno;
        see(o, nothing, (size_t)got);
        return got;
}

/* Most likely the end; a few bytes if some arrived just now. */
static ssize_t
read_few(struct output *o, size_t most)
{
        char few[FEW];
        ssize_t got = read(o->fd, few, most < sizeof few ? most : sizeof few);

        if (got <= 0)
                return got < 0 ? -errno : 0;
        see(o, few, (size_t)got);
        keep(o, few, (size_t)got);
        return got;
}

static ssize_t
read_much(struct output *o, size_t want)
{
        struct iovec pieces[2];
        int count = log_space(&o->log, want, pieces);
        ssize_t got;

        if (count == 0) { /* no memory: at least count the bytes */
                got = read_into_nothing(o, want);
                o->beyond += got > 0 ? (uint64_t)got : 0;
                return got;
        }
        got = readv(o->fd, pieces, count);
        if (got < 0)
                return -errno;
        log_commit(&o->log, (size_t)got);
        for (size_t i = 0, rest = (size_t)got; rest > 0; i++) {
                size_t len = rest < pieces[i].iov_len ? rest : pieces[i].iov_len;

                see(o, pieces[i].iov_base, len);
                rest -= len;
        }
        widen(o, (size_t)got);
        return got;
}

/* The number of bytes read; 0: the end; -errno. */
static ssize_t
read_some(struct output *o, size_t most)
{
        size_t want;
        ssize_t got;

        if (*o->budget == 0) {
                got = read_into_nothing(o, NOTHING_ROOM);
                o->beyond += got > 0 ? (uint64_t)got : 0;
                return got;
        }
        most = *o->budget < most ? (size_t)*o->budget : most;
        want = o->sanitize ? 0 : expected(o, most);
        got = o->sanitize ? read_sanitized(o, most)
              : want > 0  ? read_much(o, want)
                          : read_few(o, most);
        if (got > 0 && *o->budget != OUTPUT_NO_LIMIT)
                *o->budget -= (uint64_t)got;
        /* no process has the terminal open any more */
        return got == -EIO ? 0 : got;
}

/*
 * No reader gets what a process left behind prints, so it must not cost much. Each read is followed
 * by a pause, whatever its size. Otherwise a process that prints line by line would wake the box
 * for every line.
 */
static void
resume(struct loop_timer *t)
{
        output_watch(box_holder(t, struct output, pause));
}

static void
pause_reading(struct output *o)
{
        loop_watch_remove(&o->watch);
        (void)loop_timer_set(o->loop, &o->pause, loop_now_ms() + PAUSE_MS, resume);
}

static void
read_rest(struct output *o)
{
        size_t most = allowed(o);
        ssize_t got = o->left == 0 ? read_into_nothing(o, NOTHING_ROOM)
                      : most > 0   ? read_some(o, most < o->left ? most : (size_t)o->left)
                                   : -EAGAIN;

        if (o->left > 0 && got > 0)
                o->left -= (uint64_t)got < o->left ? (uint64_t)got : o->left;
        if (o->left == 0)
                flush(o);
        if (got == 0 || (got < 0 && got != -EAGAIN && got != -EINTR))
                output_close(o);
        else if (o->left == 0 && got > 0)
                pause_reading(o);
}

static void
ready(struct loop_watch *w, uint32_t events)
{
        struct output *o = box_holder(w, struct output, watch);
        size_t most;
        ssize_t got;

        (void)events;
        if (o->is_over) {
                unsigned was_left = o->left > 0;

                read_rest(o);
                if (was_left)
                        o->user->grown(o); /* this may be the last data */
                return;
        }
        most = allowed(o);
        got = most > 0 ? read_some(o, most) : -EAGAIN;
        if (got == 0 || (got < 0 && got != -EAGAIN && got != -EINTR)) {
                output_close(o);
                return;
        }
        if (got > 0)
                o->user->grown(o);
        output_watch(o);
}

void
output_watch(struct output *o)
{
        unsigned is_wanted = o->fd >= 0 && ((o->is_over && o->left == 0) || allowed(o) > 0);

        if (is_wanted && o->watch.loop == NULL)
                (void)loop_watch_add(o->loop, &o->watch, o->fd, EPOLLIN, ready);
        else if (!is_wanted)
                loop_watch_remove(&o->watch);
}

int
output_open(struct output *o, int take_fd, unsigned is_terminal)
{
        int result = loop_watch_add(o->loop, &o->watch, take_fd, EPOLLIN, ready);

        if (result < 0)
                (void)close(take_fd);
        else
                o->fd = take_fd;
        o->is_terminal = is_terminal;
        return result;
}

/* Shows the witness the bytes that stay in the pipe. Fewer if the copy cannot be as large. */
static void
see_rest(struct output *o)
{
        unsigned char bytes[NOTHING_ROOM];
        int pair[2], len;
        ssize_t got = o->witness && o->left > 0 && pipe2(pair, O_CLOEXEC | O_NONBLOCK) == 0;

        if (got == 0)
                return;
        len = fcntl(o->fd, F_GETPIPE_SZ);
        if (len > 0)
                (void)fcntl(pair[1], F_SETPIPE_SZ, len);
        if (tee(o->fd, pair[1], (size_t)o->left, SPLICE_F_NONBLOCK) > 0)
                while ((got = read(pair[0], bytes, sizeof bytes)) > 0)
                        see(o, bytes, (size_t)got);
        (void)close(pair[0]);
        (void)close(pair[1]);
}

/* Bytes in the pipe now are counted as the command's; later ones are not. */
void
output_finish(struct output *o, unsigned is_alone)
{
        unsigned is_terminal = o->is_terminal;
        int waiting = 0;
        ssize_t got = 1;

        if (o->fd < 0)
                return;
        if (!is_terminal && ioctl(o->fd, FIONREAD, &waiting) < 0)
                waiting = 0;
        /* a terminal is read to its end, because it does not report how many bytes it holds */
        o->left = is_terminal ? TERMINAL_MOST : (uint64_t)waiting;
        while (o->left > 0 && got > 0) {
                size_t most = is_terminal ? OUTPUT_CHUNK : allowed(o);

                got = most > 0 ? read_some(o, most < o->left ? most : (size_t)o->left) : 0;
                o->left -= got <= 0 ? 0 : (uint64_t)got < o->left ? (uint64_t)got : o->left;
                if (most == 0)
                        break;
        }
        if (is_terminal || got < 0 || allowed(o) > 0)
                o->left = 0;
        if (o->left == 0)
                flush(o);
        see_rest(o);
        if (is_terminal || (is_alone && o->left == 0))
                output_close(o);
        else
                output_watch(o);
}
