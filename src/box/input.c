/*
 * box/input.c - standard input of a command: what its callers send, through a bounded buffer.
 *
 * Room: box (program). Touches: fd, mem.
 * Theory: the buffer contains what the pipe did not take at once. While it is not empty no caller
 * is read, so the callers' sockets fill and they wait. If the command has closed its input, all
 * further input is discarded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "box/state.h"

enum { END_OF_TRANSMISSION = 4 };

void
input_init(struct exec *x, int take_fd)
{
        x->in = (struct input){ .fd = take_fd };
}

static void
empty(struct input *in)
{
        free(in->bytes);
        in->bytes = NULL;
        in->at = in->len = 0;
}

void
input_close(struct exec *x)
{
        empty(&x->in);
        loop_watch_remove(&x->in.watch);
        if (x->in.fd >= 0)
                (void)close(x->in.fd);
        x->in.fd = -1;
}

/* The number of bytes taken; all of them if the command will never read. */
static size_t
give(struct exec *x, const unsigned char *bytes, size_t len)
{
        size_t given = 0;

        while (given < len && x->in.fd >= 0) {
                ssize_t written = write(x->in.fd, bytes + given, len - given);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0 && errno == EAGAIN)
                        return given;
                if (written < 0)
                        input_close(x);
                else
                        given += (size_t)written;
        }
        return len;
}

static void
end_now(struct exec *x)
{
        const unsigned char end = END_OF_TRANSMISSION;

        if ((x->wire_flags & WIRE_EXEC_TTY) == 0)
                input_close(x);
        else if (x->in.fd >= 0)
                (void)!write(x->in.fd, &end, 1);
        x->in.wants_end = 0;
}

static void
ready(struct loop_watch *w, uint32_t events)
{
        struct exec *x = box_holder(w, struct exec, in.watch);

        (void)events;
        if (x->in.bytes)
                x->in.at += give(x, x->in.bytes + x->in.at, x->in.len - x->in.at);
        if (x->in.bytes && x->in.at < x->in.len)
                return;
        empty(&x->in);
        loop_watch_remove(&x->in.watch);
        if (x->in.wants_end)
                end_now(x);
        channel_feed_all(x);
}

void
input_put(struct exec *x, const unsigned char *bytes, size_t len)
{
        size_t given = x->in.len == 0 ? give(x, bytes, len) : 0;
        unsigned char *larger;

        if (given == len || x->in.fd < 0)
                return;
        larger = realloc(x->in.bytes, x->in.len + len - given);
        if (!larger) {
                input_close(x);
                return;
        }
        memcpy(larger + x->in.len, bytes + given, len - given);
        x->in.bytes = larger;
        x->in.len += len - given;
        if (!x->in.watch.loop &&
            loop_watch_add(x->box->loop, &x->in.watch, x->in.fd, EPOLLOUT, ready) < 0)
                input_close(x);
}

void
input_end(struct exec *x)
{
        if (x->in.len > 0)
                x->in.wants_end = 1;
        else
                end_now(x);
}
